"""Criteria read by a model: one question about each, beside the criteria it is used with."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from rubrica.errors import Problem
from rubrica.judges.fence import visible
from rubrica.judges.jury import Jury
from rubrica.model.evaluation import Cost, total_cost

from .criterion_text import CriterionText
from .gist import Gist
from .lint_warning import LintWarning, RuleName
from .structured_question import StructuredQuestion, UnusableReplyError, ask_structured

ASKED_RULES: tuple[RuleName, ...] = ("two-questions", "vague", "cannot-fail", "overlap", "contradiction")
"""The rules that a model is asked about; the others are facts."""
MAX_TOKENS = 1_500
MOST_SHOWN = 40
"""Other criteria that a model is shown, the nearest ones in words."""
LONGEST_WHY, LONGEST_WORDING = 600, 1_000  # characters
_FAULT = {
    "type": "object",
    "properties": {
        "rule": {"type": "string", "enum": list(ASKED_RULES)},
        "why": {"type": "string", "maxLength": LONGEST_WHY},
        "wording": {"type": "string", "maxLength": LONGEST_WORDING},
    },
    "required": ["rule", "why", "wording"],
    "additionalProperties": False,
}
SHAPE = {
    "type": "object",
    "properties": {"faults": {"type": "array", "items": _FAULT, "maxItems": len(ASKED_RULES)}},
    "required": ["faults"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class CriteriaReview:
    """What a model says of some criteria, what could not be asked, and what it cost."""

    warnings: tuple[LintWarning, ...]
    unread: tuple[str, ...] = ()
    cost: Cost | None = None


async def review_criteria(criteria: Sequence[CriterionText], jury: Jury, jobs: int = 16) -> CriteriaReview:
    """Ask a model about every criterion, at most `jobs` at once. What fails is told, and the others go on."""
    terms, gists = jury.asking_terms(MAX_TOKENS), [Gist.of(criterion.text) for criterion in criteria]
    room = asyncio.Semaphore(jobs)

    async def one(at: int) -> tuple[list[LintWarning], str, Cost | None]:
        question = criterion_question(at, criteria, gists, terms.model.name)
        async with room:
            answer = await ask_structured(question, terms, jury.fence_source)
        where = Problem("", criteria[at].path).where
        return answer.found or [], f"{where}: {answer.problem}" if answer.problem else "", answer.cost

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(at)) for at in range(len(criteria))]
    results = [task.result() for task in tasks]
    costs = [cost for _, _, cost in results if cost is not None]
    return CriteriaReview(
        tuple(warning for warnings, _, _ in results for warning in warnings),
        tuple(problem for _, problem, _ in results if problem),
        total_cost(costs) if costs else None,
    )


def criterion_question(
    at: int, criteria: Sequence[CriterionText], gists: Sequence[Gist], judge: str
) -> StructuredQuestion[list[LintWarning]]:
    """What a model is asked about one criterion; it and those beside it are material."""
    criterion = criteria[at]
    others = [other for other in range(len(criteria)) if other != at and not criterion.within(criteria[other])]
    nearest = sorted(nlargest(MOST_SHOWN, others, key=lambda other: gists[at].shared(gists[other])))
    material = (
        ("criterion", criterion.text),
        ("anchors", "\n".join(criterion.anchors)),
        ("others", "\n".join(f"- {criteria[other].text}" for other in nearest)),
    )
    return StructuredQuestion("lint", material, SHAPE, lambda reply: read_faults(reply, criterion, judge))


def read_faults(reply: Mapping[str, Any], criterion: CriterionText, judge: str) -> list[LintWarning]:
    """The warnings that a reply holds; an UnusableReplyError says why it holds none that can be read."""
    faults = reply.get("faults")
    if not isinstance(faults, list):
        raise UnusableReplyError("`faults` is a list, empty where there is none")
    found: dict[RuleName, LintWarning] = {}
    for fault in faults:
        rule = fault.get("rule") if isinstance(fault, dict) else None
        if rule not in ASKED_RULES:
            raise UnusableReplyError(f"each of `faults` has a `rule`, one of {', '.join(ASKED_RULES)}")
        why, wording = (
            _line(fault.get(key), most) for key, most in (("why", LONGEST_WHY), ("wording", LONGEST_WORDING))
        )
        if not why:
            raise UnusableReplyError("each of `faults` says `why`")
        found.setdefault(rule, LintWarning(rule, Problem(why, criterion.path), wording, judge))
    return list(found.values())


def _line(text: object, longest: int) -> str:
    return visible(" ".join(text.split()))[:longest] if isinstance(text, str) else ""
