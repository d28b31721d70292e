"""Checks a draft: its problems, and its evaluation of a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from rubrica.authoring.lint import lint_rubric
from rubrica.engine.document import Document, read_document
from rubrica.engine.evaluate import evaluate
from rubrica.engine.schema import EMPTY
from rubrica.errors import ContextError, InputError, Problem, RubricError
from rubrica.model.context import Context, refuse_files
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.studio.criterion_lines import read_criterion_lines
from rubrica.workspace.draft import Draft, read_draft

from .advice import CriterionAdvice, advice_by_criterion
from .bands import problems_of as band_problems
from .criterion_tree import DIMENSIONS, leaves_of
from .document import Data, Path, mapping_at
from .score_ways import filled_from_cases

LONGEST_SAMPLE = 50_000
"""Characters of a sample that is judged while one types."""


class DraftSample(msgspec.Struct, frozen=True):
    """A text to try a draft on. `more` says further names of the context, such as ``question_type: FACTUAL``, and
    `criteria` are those of the case, as lines."""

    prompt: str = ""
    response: str = ""
    more: str = ""
    criteria: str = ""

    def context(self) -> Context:
        """The sample as a context; a ContextError says what cannot be read."""
        try:
            more = read_document(self.more).data if self.more.strip() else {}
        except RubricError:
            more = None
        if not isinstance(more, Mapping):
            raise ContextError("write further values one on each line, like question_type: FACTUAL")
        texts = {"prompt": self.prompt[:LONGEST_SAMPLE], "response": self.response[:LONGEST_SAMPLE]}
        lines = read_criterion_lines(self.criteria)
        own = {"criteria": [line.plain for line in lines]} if lines else {}
        return refuse_files(Context.of({**more, **texts, **own}))


@dataclass(frozen=True, slots=True)
class DraftCheck:
    """A draft looked at: what is wrong, or else the rubric and what it says about the sample."""

    problems: tuple[Problem, ...] = ()
    rubric: Rubric | None = None
    evaluation: Evaluation | None = None
    context: Context = field(default_factory=Context)
    sample_fault: str = ""
    warnings: tuple[Problem, ...] = ()  # of lint: what an author may want to change, and can be saved
    advice: Mapping[Path, tuple[CriterionAdvice, ...]] = field(default_factory=dict)  # the same, by criterion


def payload(document: Data, *, is_public: bool = False, note: str = "") -> dict[str, Any]:
    """What is handed in of a draft: category and tags even where there are none, so that they can be emptied."""
    listing = {"category": document.get("category") or "", "tags": document.get("tags") or []}
    return {**document, **listing, "is_public": is_public, "note": note}


def check_payload(handed_in: dict[str, Any]) -> Draft:
    """The draft of what is handed in; a RubricError tells everything that keeps it from being kept."""
    own = [*band_problems(handed_in), *_unasked(handed_in)]
    try:
        draft = read_draft(handed_in)
    except RubricError as error:
        raise RubricError([*error.problems, *own]) from None
    if own:
        raise RubricError(own)
    return draft


def _unasked(document: Data) -> Iterator[Problem]:
    """Criteria that are answered by a label, and ask nothing yet."""
    for path in leaves_of(document, DIMENSIONS):
        axis = mapping_at(document, path)
        if axis.get("answers") and "from" not in axis and not any(axis.get(key) for key in ("asks", "title")):
            yield Problem("the criterion says nothing yet", (*path, "asks"), fix="write it, or remove it")


def check_draft(document: Data, placed: Document | None, sample: DraftSample) -> DraftCheck:
    """Everything wrong with a draft, each with its place (and line, where the text is known), or its preview.

    The preview asks no model: what a judge would score is scored by its offline recipe, or not at all.
    """
    if filled_from_cases(document) is None:
        sample = replace(sample, criteria="")  # typed for another draft
    try:
        context, sample_fault = sample.context(), ""
    except ContextError as error:
        context, sample_fault = Context(prompt=sample.prompt, response=sample.response), str(error)
    try:
        draft = check_payload(payload(document))
    except RubricError as error:
        problems = tuple(_with_line(problem, placed) for problem in _form_problems(error.problems))
        return DraftCheck(problems, context=context, sample_fault=sample_fault)
    except InputError as error:
        return DraftCheck((Problem(str(error)),), context=context, sample_fault=sample_fault)
    found = lint_rubric(draft.rubric).warnings
    warnings = tuple(_with_line(warning.advice, placed) for warning in found)
    advice = advice_by_criterion(found)
    try:
        evaluation = evaluate(draft.compiled(), context)
    except ContextError as error:  # such as a profile that the sample does not choose
        return DraftCheck((), draft.rubric, None, context, sample_fault or str(error), warnings, advice)
    return DraftCheck((), draft.rubric, evaluation, context, sample_fault, warnings, advice)


def _form_problems(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems as somebody who builds by form wants them: at the place they are about, and none that only follows."""
    found = list(problems)
    half_read = {problem.path[0] for problem in found if problem.path}
    half_noted = any(problem.path[:1] == ("notes",) and len(problem.path) > 1 for problem in found)
    for problem in found:
        if "share_of_points(" in problem.message:
            continue  # a formula that nobody wrote: what is wrong with the points is told at the points
        if not problem.path and problem.message.startswith("the last verdict"):
            if "verdicts" not in half_read:
                yield replace(problem, path=("verdicts",))
        elif problem.path != ("notes",) or not half_noted:
            yield _reworded(problem)


def _reworded(problem: Problem) -> Problem:
    """A problem in the words of the form, where the document's are too far from them."""
    match problem.path:
        case ("dimensions",) if problem.message in (EMPTY, "is required and missing"):
            return replace(problem, message="there is none yet", fix="add a dimension")
        case ("sections", _, "dimensions") if problem.message == EMPTY:
            return replace(problem, message="the section has no dimension", fix="choose at least one, or remove it")
        case ("bands", str(name)):
            what = f"the band {name.strip()}" if name.strip() else "a band"
            return replace(problem, message=f"{what} has to begin somewhere from 0 to 100 percent")
        case ("notes", str(name), *rest) if name != "by" and rest in ([], ["text"]):
            written = replace(problem, path=("notes", name, "text"))
            if "at least 1" not in problem.message:
                return written
            return replace(written, message="the note says nothing yet", fix="write what the judge is told")
        case ("dimensions", *_, "examples", int(), "response") if "too few" in problem.message:
            return replace(problem, message="the example has no response yet", fix="write it, or remove it")
        case ("notes", "by") if "at least 1" in problem.message or "required" in problem.message:
            return replace(problem, message="nothing says which note is for which case", fix="such as subject")
    return problem


def _with_line(problem: Problem, placed: Document | None) -> Problem:
    return problem if placed is None else replace(problem, line=placed.line(problem.path))
