"""Rubrics that a model drafts from a task, from good and bad answers, or from what was preferred. People apply them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rubrica.engine.expand import slug
from rubrica.engine.load import plan_from_data
from rubrica.errors import InputError, RubricError
from rubrica.judges.fence import visible
from rubrica.judges.jury import Jury
from rubrica.model.context import Context
from rubrica.model.evaluation import Cost
from rubrica.model.rubric import Rubric

from .criterion_text import criteria_of
from .structured_question import StructuredQuestion, UnusableReplyError, ask_structured

MAX_TOKENS = 6_000
MOST_CRITERIA_DRAFTED = 30
MOST_EXAMPLES_SHOWN = 20
"""Examples that a model is shown, of each side."""
LONGEST_SHOWN = 4_000
"""Characters of a task or a text that a model is shown."""
PASSES_AT = 60.0
"""Of 100: where a drafted rubric passes a response until somebody decides otherwise."""

Side = Literal["good", "bad", "preferred", "rejected"]
GOOD_SIDES: frozenset[Side] = frozenset({"good", "preferred"})
_ASKS, _TITLE, _PROSE = 500, 120, 600  # characters
_CRITERION = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "asks": {"type": "string", "maxLength": _ASKS},
        "wanted": {"type": "boolean"},
        "importance": {"type": "number", "minimum": 1, "maximum": 10},
        "because": {"type": "string", "maxLength": _PROSE},
    },
    "required": ["name", "asks", "wanted", "importance", "because"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class DraftingExample:
    """A response that people found good or bad; of a pair, both have the same id."""

    id: str
    side: Side
    context: Context


@dataclass(frozen=True, slots=True)
class DraftingTerms:
    """What a rubric is drafted from."""

    task: str = ""
    examples: tuple[DraftingExample, ...] = ()
    base: Rubric | None = None  # of which the draft is a next version
    name: str = ""
    most: int = 8  # criteria

    def check(self) -> None:
        """Refuse what nothing can be drafted from."""
        if not self.task.strip() and not self.examples:
            raise InputError("nothing to draft from; give a task, good and bad answers, or pairs")
        sides = {example.side in GOOD_SIDES for example in self.examples}
        if len(sides) == 1 and not self.task.strip():
            missing = "bad" if True in sides else "good"
            raise InputError(f"only one kind of answer is given; add {missing} ones, or a task")


@dataclass(frozen=True, slots=True)
class DraftedRubric:
    """A rubric that a model wrote: the document, which compiles, and why each criterion is in it."""

    document: dict[str, Any]
    rubric: Rubric
    because: Mapping[str, str] = field(default_factory=dict)  # by dimension
    cost: Cost | None = None


async def draft_rubric(terms: DraftingTerms, jury: Jury) -> DraftedRubric:
    """What a model drafts. A reply that makes no rubric is asked for once more with what is wrong, then refused."""
    terms.check()
    answer = await ask_structured(draft_question(terms), jury.asking_terms(MAX_TOKENS), jury.fence_source)
    if answer.found is None:
        raise UnusableReplyError(f"{jury.names[0]} drafted nothing that can be used: {answer.problem}")
    found = answer.found
    return DraftedRubric(found.document, found.rubric, found.because, answer.cost)


def draft_question(terms: DraftingTerms) -> StructuredQuestion[DraftedRubric]:
    """What a model is asked; tasks and examples are material."""
    return StructuredQuestion(
        "draft",
        _material(terms),
        _shape(terms.most),
        lambda reply: read_draft_reply(reply, terms),
        {"most": str(terms.most)},
    )


def _material(terms: DraftingTerms) -> tuple[tuple[str, str], ...]:
    pieces = [("task", _cut(terms.task))]
    if terms.base is not None:
        asked = "\n".join(f"- {criterion.text}" for criterion in criteria_of(terms.base))
        pieces.append(("earlier criteria, to keep, change or leave out", asked))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(one.id for one in terms.examples), 1)}
    shown: dict[Side, int] = {}
    for example in terms.examples:
        shown[example.side] = shown.get(example.side, 0) + 1
        if shown[example.side] <= MOST_EXAMPLES_SHOWN:
            question = f"question: {_cut(example.context.prompt)}\n\n" if example.context.prompt else ""
            text = f"{question}response: {_cut(example.context.response)}"
            pieces.append((f"{example.side} example {numbers[example.id]}", text))  # an id is somebody's text too
    return tuple(pieces)


def _shape(most: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": _TITLE},
            "description": {"type": "string", "maxLength": _PROSE},
            "criteria": {"type": "array", "items": _CRITERION, "minItems": 1, "maxItems": most},
        },
        "required": ["title", "description", "criteria"],
        "additionalProperties": False,
    }


def read_draft_reply(reply: Mapping[str, Any], terms: DraftingTerms) -> DraftedRubric:
    """The rubric that a reply describes; an UnusableReplyError says why it describes none."""
    rows = reply.get("criteria")
    if not isinstance(rows, list) or not 1 <= len(rows) <= terms.most:
        raise UnusableReplyError(f"`criteria` is a list of 1 to {terms.most} criteria")
    dimensions: dict[str, dict[str, Any]] = {}
    because: dict[str, str] = {}
    importance: dict[str, float] = {}
    for number, row in enumerate(rows, 1):
        name, asks, wanted, weight = _criterion(row, number)
        if name in dimensions:
            raise UnusableReplyError(f"two criteria are called {name!r}")
        dimensions[name] = {"asks": asks, "answers": {"yes": 1, "no": 0} if wanted else {"yes": 0, "no": 1}}
        because[name], importance[name] = _text(row.get("because"), _PROSE), weight
    if not any(spec["answers"]["yes"] for spec in dimensions.values()):
        raise UnusableReplyError("no criterion is `wanted`; a response has to have something to be good for")
    for name, weight in _weights(importance).items():
        dimensions[name]["weight"] = weight
    document = _document(reply, terms, dimensions)
    try:
        return DraftedRubric(document, plan_from_data(document).rubric, because)
    except RubricError as error:
        raise UnusableReplyError("; ".join(str(problem) for problem in error.problems[:5])) from None


def _criterion(row: object, number: int) -> tuple[str, str, bool, float]:
    if not isinstance(row, Mapping):
        raise UnusableReplyError(f"criterion {number} is not an object")
    asks = _text(row.get("asks"), _ASKS)
    if not asks:
        raise UnusableReplyError(f"criterion {number} has no `asks`")
    name = re.sub(r"[^a-z0-9]+", "_", str(row.get("name", "")).lower()).strip("_")[:40].strip("_")
    if not name or not name[0].isalpha():
        raise UnusableReplyError(f"criterion {number} needs a `name` of lower-case letters, digits and underscores")
    wanted, weight = row.get("wanted"), row.get("importance")
    if not isinstance(wanted, bool):
        raise UnusableReplyError(f"`wanted` of {name} is true or false")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not (math.isfinite(weight) and weight > 0):
        raise UnusableReplyError(f"`importance` of {name} is a number from 1 to 10")
    return name, asks, wanted, min(float(weight), 10.0)


def _weights(importance: Mapping[str, float]) -> dict[str, float]:
    """Shares in hundredths that sum to 1, each at least one.

    >>> _weights({"a": 1, "b": 1, "c": 1})
    {'a': 0.34, 'b': 0.33, 'c': 0.33}
    """
    total = sum(importance.values())
    hundredths = {name: max(1, math.floor(100 * weight / total)) for name, weight in importance.items()}
    names = sorted(importance, key=lambda name: -importance[name])
    left, at = 100 - sum(hundredths.values()), 0
    while left:
        name = names[at % len(names)]
        step = 1 if left > 0 else -1
        if hundredths[name] + step >= 1:
            hundredths[name] += step
            left -= step
        at += 1
    return {name: share / 100 for name, share in hundredths.items()}


def _document(reply: Mapping[str, Any], terms: DraftingTerms, dimensions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    title = _text(reply.get("title"), _TITLE)
    name, version = terms.name, "1.0.0"
    if terms.base is not None:
        name, version = name or terms.base.name, _next(terms.base.version)
    return {
        "name": slug(name or title or "draft"),
        "version": version,
        "title": title,
        "description": _text(reply.get("description"), _PROSE),
        "dimensions": dimensions,
        "score": {"out_of": 100},
        "threshold": PASSES_AT,
        "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
    }


def _next(version: str) -> str:
    """The next version for a change of what is asked.

    >>> _next("1.2.0"), _next("3")
    ('2.0.0', '4.0.0')
    """
    return f"{int(re.split(r'[.+-]', version)[0]) + 1}.0.0"


def _text(value: object, longest: int) -> str:
    return visible(" ".join(value.split()))[:longest] if isinstance(value, str) else ""


def _cut(text: str) -> str:
    """A long text without its middle."""
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[: LONGEST_SHOWN * 3 // 4]}\n[…]\n{text[-LONGEST_SHOWN // 4 :]}"
