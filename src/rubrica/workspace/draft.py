"""What somebody wants a rubric to be: its document as they wrote it, and how it is to be listed.

The document keeps its form, short or long, and its wording. `category`, `tags` and `is_public` say where it is found
and decide nothing: they stand beside the document, not in it, so that changing them makes no new version. Title and
description belong to the document, for judges are shown them. The hash of a version is the hash of the rubric that its
document stands for, without category and tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from rubrica.engine.cases import BadLine, case_from
from rubrica.engine.expand import expand
from rubrica.engine.load import plan_from_data
from rubrica.engine.plan import Plan
from rubrica.engine.schema import read_rubric
from rubrica.errors import InputError, Problem, RubricError
from rubrica.model.rubric import Rubric
from rubrica.model.shortform import ShortForm

from .plain_data import plain_text, read_plain

LARGEST_DEFINITION = 200_000
"""Bytes of a definition, as JSON."""
MOST_RULES = 1_000
"""Rules and patterns of a definition, all dimensions together."""
LARGEST_EXAMPLES = 500_000
"""Bytes of all examples, as JSON."""
MOST_EXAMPLES = 500
MOST_PROBLEMS = 100
"""Problems that are told at once."""
LONGEST_CATEGORY, LONGEST_TAG, MOST_TAGS = 100, 50, 20
LONGEST_NAME, LONGEST_NOTE = 255, 2_000
LONGEST_LABEL = 40
"""Characters of a version; the column holds more, so that there is room to count up."""

READ_ONLY = frozenset({"id", "slug", "revision", "hash", "forked_from", "changed"})
READ_ONLY |= {"created_by", "created_at", "updated_at"}
"""Keys that a rubric is shown with and nobody sets: in a body they are passed over."""
LISTING = frozenset({"category", "tags", "is_public", "note", "examples"})
"""Keys that stand beside the document."""

_LABEL = re.compile(r"\d+(\.\d+){0,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Draft:
    """A rubric document that works, and what goes with it. None: nothing was said, so what was said before holds."""

    definition: Mapping[str, Any]
    rubric: Rubric
    examples: Sequence[Mapping[str, Any]] | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    is_public: bool | None = None
    note: str = ""
    revision: int | None = None  # the one its author had read
    plan: Plan | None = field(default=None, compare=False, repr=False)  # that checking has made of it

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def label(self) -> str | None:
        """The version as it is written; None: not written."""
        label = self.definition.get("version")
        return None if label is None else str(label)

    @property
    def scoring_type(self) -> str | None:
        kind = self.definition.get("scoring_type")
        return None if kind is None else str(kind)

    def compiled(self) -> Plan:
        """Its plan, which is kept nowhere else."""
        return self.plan or plan_from_data(self.definition)

    def labelled(self, label: str) -> Draft:
        """The same, as another version. A document that does not say the version it has need not be touched."""
        if label == self.rubric.version:
            return self
        return self._with("version", label)

    def renamed(self, name: str) -> Draft:
        """The same under another name."""
        return self._with("name", name)

    def _with(self, key: str, value: str) -> Draft:
        definition = with_key(self.definition, key, value)
        return replace(self, definition=definition, rubric=rubric_of(definition), plan=None)


def read_draft(data: Any) -> Draft:
    """What a request body or a file says; a RubricError lists everything wrong with it, an InputError what is too much.

    >>> draft = read_draft({"name": "Brief", "scoring_type": "binary", "tags": ["short"], "rules": [
    ...     {"type": "custom_expression", "expression": "1 if word_count < 9 else 0"}]})
    >>> draft.rubric.name, draft.tags, sorted(draft.definition)
    ('brief', ('short',), ['name', 'rules', 'scoring_type'])
    """
    if not isinstance(data, Mapping):
        raise RubricError([Problem("a rubric is keys with values")])
    plain, problems = read_plain({key: value for key, value in data.items() if key not in READ_ONLY | {"examples"}})
    if problems:
        raise _limit_problems(problems)
    definition = definition_of(plain)
    _refuse_too_much(definition)
    reader = _Reader()
    plan = reader.plan(definition)
    draft = Draft(
        definition,
        plan and plan.rubric,
        reader.examples(data.get("examples")),
        reader.category(plain.get("category")),
        reader.tags(plain.get("tags")),
        reader.is_public(plain.get("is_public")),
        reader.note(plain.get("note")),
        reader.revision(data.get("revision")),
        plan,
    )
    if reader.problems:
        raise _limit_problems(reader.problems)
    return draft


def definition_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The document alone, without what stands beside it.

    >>> definition_of({"id": 7, "name": "x", "description": "", "tags": ["a"], "rules": []})
    {'name': 'x', 'rules': []}
    """
    beside = READ_ONLY | LISTING
    blank = {key for key in ("description", "version") if data.get(key, "") in ("", None)}  # shown, never written
    return {key: value for key, value in data.items() if key not in beside and key not in blank}


def rubric_of(definition: Mapping[str, Any]) -> Rubric:
    """The rubric of a definition that works: only its shape is read again, nothing is compiled."""
    reading = read_rubric(dict(definition))
    rubric, problems = reading.rubric, reading.problems
    if isinstance(rubric, ShortForm):
        rubric, found = expand(rubric)
        problems = [*problems, *found]
    if problems or rubric is None:
        raise RubricError(problems)
    return rubric


def with_key(definition: Mapping[str, Any], key: str, value: str) -> dict[str, Any]:
    """A definition with one key set where it stands, or behind the name.

    >>> list(with_key({"name": "x", "rules": []}, "version", "1.1"))
    ['name', 'version', 'rules']
    """
    if key in definition:
        return {**definition, key: value}
    changed: dict[str, Any] = {}
    for own, kept in definition.items():
        changed[own] = kept
        if own == "name":
            changed[key] = value
    return changed


class _Reader:
    """Reads the parts of a draft and gathers what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def plan(self, definition: Mapping[str, Any]) -> Any:
        """The compiled rubric; None where there are problems, which keeps the draft from being used."""
        label = definition.get("version")
        if isinstance(label, str):
            if len(label) > LONGEST_LABEL:
                self._report("is too long", "version", fix=f"at most {LONGEST_LABEL} characters")
            elif "scoring_type" in definition and not _LABEL.fullmatch(label):
                self._report(f"{label!r} has the wrong form", "version", fix='one to three numbers, like "1.0"')
        name = definition.get("name")
        if isinstance(name, str) and (not name.strip() or not name.isprintable()):
            self._report("is blank or holds characters that cannot be shown", "name", fix="letters and digits")
        try:
            return plan_from_data(definition)
        except RubricError as error:
            self.problems += error.problems
            return None

    def examples(self, given: Any) -> list[Mapping[str, Any]] | None:
        if given is None:
            return None
        if not isinstance(given, list):
            self._report("is a list of cases, each with at least a response", "examples")
            return None
        plain, problems = read_plain(given, ("examples",), nul=True)
        if problems:
            self.problems += problems
            return None
        if len(plain) > MOST_EXAMPLES or len(msgspec.json.encode(plain)) > LARGEST_EXAMPLES:
            raise InputError(f"examples are too many or too long (at most {MOST_EXAMPLES}, {LARGEST_EXAMPLES:,} bytes)")
        for index, case in enumerate(plain):
            read = case_from(case, index + 1) if isinstance(case, dict) else BadLine(index + 1, "is not a case")
            if isinstance(read, BadLine):
                self._report(read.reason, "examples", index)
        return list(plain)

    def category(self, given: Any) -> str | None:
        if given is None:
            return None
        return self._text(given, LONGEST_CATEGORY, "category")

    def tags(self, given: Any) -> tuple[str, ...] | None:
        if given is None:
            return None
        if not isinstance(given, list) or len(given) > MOST_TAGS:
            self._report("is a list of words", "tags", fix=f"at most {MOST_TAGS}")
            return None
        words = [self._text(word, LONGEST_TAG, "tags", index) for index, word in enumerate(given)]
        return tuple(dict.fromkeys(word for word in words if word))

    def is_public(self, given: Any) -> bool | None:
        if given is None or isinstance(given, bool):
            return given
        self._report("should be true or false", "is_public")
        return None

    def note(self, given: Any) -> str:
        return "" if given is None else self._text(given, LONGEST_NOTE, "note")

    def revision(self, given: Any) -> int | None:
        if given is None or (isinstance(given, int) and not isinstance(given, bool)):
            return given
        self._report("should be the whole number that was read", "revision")
        return None

    def _text(self, given: Any, longest: int, *path: str | int) -> str:
        if not isinstance(given, str):
            self._report("should be text", *path)
            return ""
        try:
            return plain_text(given, "this", longest)
        except InputError as error:
            self._report(str(error), *path)
            return ""

    def _report(self, message: str, *path: str | int, fix: str = "") -> None:
        self.problems.append(Problem(message, path, fix=fix))


def _refuse_too_much(definition: Mapping[str, Any]) -> None:
    size = len(msgspec.json.encode(definition))
    if size > LARGEST_DEFINITION:
        raise InputError(f"the definition has {size:,} bytes (at most {LARGEST_DEFINITION:,}: split it into several)")
    rules = sum(_rules(definition))
    if rules > MOST_RULES:
        raise InputError(f"the definition has {rules:,} rules and patterns (at most {MOST_RULES:,}: split it)")


def _rules(value: Any) -> Iterator[int]:
    """How many rules and patterns stand in each list of them, wherever it is."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("rules", "patterns") and isinstance(inner, list | dict):
                yield len(inner)
            yield from _rules(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _rules(item)


def _limit_problems(problems: Sequence[Problem]) -> RubricError:
    distinct = list(dict.fromkeys(problems))
    more = len(distinct) - MOST_PROBLEMS
    rest = [Problem(f"and {more:,} more problems")] if more > 0 else []
    return RubricError(distinct[:MOST_PROBLEMS] + rest)
