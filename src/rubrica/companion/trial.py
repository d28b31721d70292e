"""A trial: a system prompt answers every scenario, each reply is judged, and a decision follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from statistics import fmean
from typing import Any, Literal

from msgspec import structs

from rubrica.errors import RubricaError
from rubrica.model.evaluation import Cost, total_cost
from rubrica.model.rubric import Rubric
from rubrica.model.scale import share_of
from rubrica.runs.files.rows import RunRow, row_of

from .candidate import Candidate, SpokenTurn, converse
from .decision import Decision, DecisionTerms, ReplyScores, decide
from .journal import NOWHERE, Journal
from .judgement import OVERALL, Disagreement, JudgedReply, ReplyJudges
from .scenarios import Scenario

SEED = 20
"""Of the resampling behind intervals: the same trial always tells the same."""


@dataclass(frozen=True)
class Trial:
    """Everything a trial came to."""

    prompt: str  # how the system prompt is called
    model: str
    judge: str  # "" without one
    replies: tuple[JudgedReply, ...]
    missing: tuple[SpokenTurn, ...]  # turns without a reply
    decision: Decision
    rubric: Rubric  # of the evaluations that count
    terms: DecisionTerms = field(default_factory=DecisionTerms)

    @property
    def groups(self) -> list[str]:
        """The titles of the scenario groups, in their order."""
        titles = [reply.spoken.scenario.title for reply in self.replies]
        return list(dict.fromkeys([*titles, *(spoken.scenario.title for spoken in self.missing)]))

    @property
    def dimensions(self) -> list[str]:
        return list(self.replies[0].by_rules.dimensions) if self.replies else []

    def mean(self, group: str | None = None, dimension: str = OVERALL) -> float | None:
        """A mean over the replies of a group (or all): of a dimension where it applied, or of the score."""
        values = [_value(reply, dimension) for reply in self.replies if group in (None, reply.spoken.scenario.title)]
        known = [value for value in values if value is not None]
        return fmean(known) if known else None

    @property
    def flagged(self) -> list[tuple[str, list[JudgedReply]]]:
        """Each flag that was raised, with the replies that raised it."""
        raised: dict[str, list[JudgedReply]] = {}
        for reply in self.replies:
            for flag in reply.flags:
                raised.setdefault(flag, []).append(reply)
        return list(raised.items())

    @property
    def disagreements(self) -> list[Disagreement]:
        """Where rules and judge are far apart, widest first."""
        return sorted((d for reply in self.replies for d in reply.disagreements), key=lambda d: -d.gap)

    @property
    def ranked(self) -> list[JudgedReply]:
        """The replies that have a score, best first."""
        return sorted(
            (r for r in self.replies if r.score is not None), key=lambda r: (-(r.score or 0.0), r.spoken.case)
        )

    def extremes(self, most: int) -> tuple[list[JudgedReply], list[JudgedReply]]:
        """Up to so many of the best and of the worst replies, none of them twice. What raises a flag is not held up as
        an example, whatever its score."""
        best = [reply for reply in self.ranked if not reply.flags][: min(most, (len(self.ranked) + 1) // 2)]
        worst = [reply for reply in reversed(self.ranked) if reply not in best][:most]
        return best, worst

    @property
    def cost(self) -> Cost:
        """What candidate and judge cost together."""
        spoken = [reply.spoken.cost for reply in self.replies]
        judged = [reply.by_judge.cost for reply in self.replies if reply.by_judge is not None]
        return total_cost([cost for cost in [*spoken, *judged] if cost is not None])

    def rows(self) -> list[RunRow]:
        """The replies as figures, to compare with those of another prompt."""
        return [_row(reply) for reply in self.replies]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        decision = self.decision
        return {
            "prompt": self.prompt,
            "model": self.model,
            "judge": self.judge or None,
            "decision": decision.label,
            "reason": decision.reason,
            "close": decision.close or None,
            "mean": None if decision.mean is None else decision.mean.value,
            "interval": None if decision.mean is None else [decision.mean.low, decision.mean.high],
            "dimensions": dict(decision.dimensions),
            "scenarios": {
                group: {name: self.mean(group, name) for name in (OVERALL, *self.dimensions)} for group in self.groups
            },
            "flags": {flag: [reply.spoken.case for reply in raised] for flag, raised in self.flagged},
            "disagreements": [
                {"case": d.case, "dimension": d.dimension, "rules": d.by_rules, "judge": d.by_judge}
                for d in self.disagreements
            ],
            "replies": [_reply_to_dict(reply) for reply in self.replies],
            "missing": [{"case": spoken.case, "reason": spoken.failure} for spoken in self.missing],
            "usd": self.cost.usd,
        }


async def hold_trial(
    candidate: Candidate,
    scenarios: Sequence[Scenario],
    bench: ReplyJudges,
    *,
    name: str,
    jobs: int = 8,
    on_reply: Callable[[SpokenTurn], None] = lambda _: None,
    journal: Journal = NOWHERE,
) -> Trial:
    """Hold a trial, several conversations at once. What the journal knows is not asked for again."""
    places = asyncio.Semaphore(jobs)

    async def one(scenario: Scenario) -> list[SpokenTurn | JudgedReply]:
        talk = (candidate.key, scenario.id)
        async with places:
            spoken = await converse(candidate, scenario, journal.said(talk), partial(journal.keep_said, talk))
            found: list[SpokenTurn | JudgedReply] = []
            for turn in spoken:
                known = journal.judged(talk, turn)
                if turn.context is not None and known is None:
                    known = await bench.judge(turn)
                    journal.keep_judged(talk, known)
                found.append(known or turn)
                on_reply(turn)
            return found

    stopped: Sequence[Exception] = ()
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(scenario)) for scenario in scenarios]
    except* RubricaError as errors:  # such as a full disk
        stopped = errors.exceptions
    if stopped:
        raise stopped[0]  # one says it for all; up there, Python 3.11.2 would wrap it in a group again
    found = [turn for task in tasks for turn in task.result()]
    replies = tuple(turn for turn in found if isinstance(turn, JudgedReply))
    missing = tuple(turn for turn in found if isinstance(turn, SpokenTurn))
    terms = DecisionTerms.of(bench.rubric)
    judge = next((r.judge for e in replies if e.by_judge for r in e.by_judge.dimensions.values() if r.judge), "")
    unscored = sum(reply.score is None for reply in replies)
    decision = _decided(replies, len(missing) + unscored, terms)
    return Trial(name, candidate.model.name, judge, replies, missing, decision, bench.rubric, terms)


def _decided(replies: Sequence[JudgedReply], missing: int, terms: DecisionTerms) -> Decision:
    scores: dict[str, list[float]] = {}
    dimensions: dict[str, list[float]] = {}
    for reply in replies:
        if reply.score is not None:
            scores.setdefault(reply.spoken.scenario.id, []).append(reply.score)
        for name in reply.by_rules.dimensions:
            value = _value(reply, name)
            if value is not None:
                dimensions.setdefault(name, []).append(value)
    vetoes: dict[str, list[str]] = {}
    for reply in replies:
        for reason in reply.vetoes.values():
            vetoes.setdefault(reason, []).append(reply.spoken.case)
    chance = Random(SEED)  # noqa: S311 - resampling, not a secret
    return decide(scores, dimensions, missing, terms, chance, (_at_end(replies, 0), _at_end(replies, 1)), vetoes)


def _at_end(replies: Sequence[JudgedReply], end: Literal[0, 1]) -> ReplyScores:
    """The scores at the lower or the upper end of what is known of them."""
    dimensions: dict[str, list[float]] = {}
    for reply in replies:
        for name in reply.by_rules.dimensions:
            value = _value(reply, name)
            result = reply.evaluation.dimensions.get(name)
            if result is not None and result.bounds is not None:
                value = share_of(result.bounds[end], result.low, result.high)
            if value is not None:
                dimensions.setdefault(name, []).append(value)
    found = [reply.evaluation for reply in replies if reply.score is not None]
    return ReplyScores([one.bounds[end] / one.out_of for one in found], dimensions)


def _value(reply: JudgedReply, dimension: str) -> float | None:
    if dimension == OVERALL:
        return reply.score
    return reply.evaluation.dimensions[dimension].share


def _row(reply: JudgedReply) -> RunRow:
    row = row_of(reply.evaluation)
    own = {name: value for name, value in row.dimensions.items() if name in reply.by_rules.dimensions}
    return structs.replace(row, dimensions=own)  # without the judge's single score, which is the row's own


def _reply_to_dict(reply: JudgedReply) -> dict[str, Any]:
    return {
        "case": reply.spoken.case,
        "scenario": reply.spoken.scenario.title,
        "said": reply.spoken.said,
        "reply": reply.spoken.reply,
        "score": reply.score,
        "rules": {name: result.share for name, result in reply.by_rules.dimensions.items()},
        "judge": {name: result.share for name, result in reply.by_model.items()} or None,
        "flags": reply.flags,
        "unscored": reply.unscored,
    }
