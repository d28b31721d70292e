"""The formats by name: rubrics of other tools in and out, each checked by the engine as any rubric is."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import yaml

from rubrica.engine.load import rubric_from_data
from rubrica.errors import Problem, RubricError
from rubrica.model.rubric import Rubric

from .autorubric_dataset import ITEMS, NO_ITEMS, is_dataset, read_dataset_rubric, read_items
from .conversion import Conversion
from .criterion_lists import read_criterion_list, write_criterion_list
from .openai_export import write_grader
from .openai_import import read_grader
from .source_data import read_source
from .task_trees import read_task_tree, write_task_tree

__all__ = ["CASES", "ITEMS", "RubricFormat", "export_rubric", "import_items", "import_rubric", "render"]

RubricFormat = Literal["paperbench", "openai-grader", "autorubric", "rubric"]
CASES: Literal["healthbench"] = "healthbench"
"""The format of cases, which `healthbench` reads line by line."""


def import_rubric(text: str, form: RubricFormat, name: str = "imported", *, file: str | None = None) -> Conversion:
    """The rubric document of another tool's text, ready for `rubrica.load`, and what could not be carried over.

    >>> found = import_rubric("- {weight: 3, requirement: Names the source.}", "rubric", "sources")
    >>> list(found.data["dimensions"]), found.lost
    (['c1'], ())
    """
    data = read_source(text, file)
    try:
        match form:
            case "paperbench":
                found = read_task_tree(data, name)
            case "openai-grader":
                found = read_grader(data, name)
            case "autorubric" if is_dataset(data):
                found = read_dataset_rubric(data, name)
            case "autorubric" | "rubric":
                found = read_criterion_list(data, name, form)
    except RubricError as error:
        raise RubricError([Problem(one.message, one.path, one.line, file, one.fix) for one in error.problems]) from None
    rubric_from_data(found.data)
    return found


def import_items(text: str, name: str = "imported", *, file: str | None = None) -> Conversion:
    """The cases in a dataset of AutoRubric, for the rubric that `import_rubric` makes of it under the same name."""
    data = read_source(text, file)
    try:
        if not is_dataset(data):
            raise RubricError([Problem(NO_ITEMS)])
        return read_items(data, name)
    except RubricError as error:
        raise RubricError([Problem(one.message, one.path, one.line, file, one.fix) for one in error.problems]) from None


def export_rubric(rubric: Rubric, form: RubricFormat, **options: str) -> Conversion:
    """A rubric as another tool's data. OpenAI's graders name the `model` that they ask."""
    match form:
        case "paperbench":
            return write_task_tree(rubric)
        case "openai-grader":
            return write_grader(rubric, **options)
        case "autorubric" | "rubric":
            return write_criterion_list(rubric, form)


def render(data: Any, *, as_yaml: bool) -> str:
    """The text of converted data."""
    plain = msgspec.to_builtins(data)
    if as_yaml:
        return str(yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes no aliases: a reader should see every value where it counts."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True
