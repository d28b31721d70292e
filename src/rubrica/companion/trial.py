"""A trial: a system prompt answers every scenario, each reply is judged, and a decision follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean, median
from typing import Any, Literal

from msgspec import structs

from rubrica.errors import RubricaError
from rubrica.model.evaluation import Cost, total_cost
from rubrica.model.rubric import Rubric
from rubrica.model.scale import share_of
from rubrica.runs.files.rows import RunRow, row_of
from rubrica.scoring.intervals import Estimate, Moments, mean_estimate

from .assertions import AssertionResult
from .candidate import Candidate, SpokenTurn, converse
from .decision import Decision, DecisionTerms, ReplyScores, decide
from .judgement import OVERALL, Disagreement, JudgedReply, ReplyJudges
from .scenarios import Scenario

SEED = 20
"""Of the resampling behind intervals: the same trial always tells the same."""


@dataclass(frozen=True, slots=True)
class ScenarioScore:
    """How one scenario came out over all its turns and repeats; the interval is Student's, over repeats."""

    scenario: str
    repeats: int
    mean: float
    interval: Estimate | None  # None with fewer than two repeats
    failed: int  # assertions


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

    @classmethod
    def of(cls, prompt: str, model: str, found: Iterable[JudgedReply | SpokenTurn], rubric: Rubric) -> Trial:
        """The trial that some replies come to; a turn that is no judged reply is missing."""
        turns = list(found)
        replies = tuple(turn for turn in turns if isinstance(turn, JudgedReply))
        missing = tuple(turn for turn in turns if isinstance(turn, SpokenTurn))
        terms = DecisionTerms.of(rubric)
        asked = next((r.judge for e in replies if e.by_judge for r in e.by_judge.dimensions.values() if r.judge), "")
        return cls(prompt, model, asked, replies, missing, _decided(replies, len(missing), terms), rubric, terms)

    @property
    def repeats(self) -> int:
        """How often each conversation was held."""
        turns = [*(reply.spoken for reply in self.replies), *self.missing]
        return max((spoken.repeat for spoken in turns), default=0) + 1

    @property
    def vetoed(self) -> list[str]:
        """The replies that alone keep the prompt from being deployed."""
        return [reply.spoken.case for reply in self.replies if reply.vetoes]

    @property
    def unscored_replies(self) -> list[JudgedReply]:
        """Replies for which the judge owes a score; they count as missing."""
        return [reply for reply in self.replies if reply.lacks_score]

    @property
    def assertions(self) -> list[tuple[SpokenTurn, AssertionResult]]:
        """Every assertion with the reply it is about."""
        return [(reply.spoken, one) for reply in self.replies for one in reply.spoken.assertions]

    @property
    def scenario_scores(self) -> list[ScenarioScore]:
        """The scenarios one by one, in their order."""
        found: dict[str, dict[int, list[float]]] = {}
        failed: dict[str, int] = {}
        for reply in self.replies:
            name = reply.spoken.scenario.id
            failed[name] = failed.get(name, 0) + len(reply.failed_assertions)
            if (score := _value(reply, OVERALL)) is not None:
                found.setdefault(name, {}).setdefault(reply.spoken.repeat, []).append(score)
        scores = []
        for name, by_repeat in found.items():
            moments = Moments.of(list(by_repeat.values()))
            scores.append(
                ScenarioScore(name, len(by_repeat), moments.mean or 0.0, _within(mean_estimate(moments)), failed[name])
            )
        return scores

    @property
    def latency(self) -> tuple[float, float] | None:
        """How long replies took until they were whole, median and longest, in ms; None where nobody measured it."""
        times = [reply.spoken.duration_ms for reply in self.replies if reply.spoken.duration_ms > 0]
        return (median(times), max(times)) if times else None

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
    def reply_cost(self) -> Cost:
        """What the candidate's replies cost."""
        return total_cost([reply.spoken.cost for reply in self.replies if reply.spoken.cost is not None])

    @property
    def judge_cost(self) -> Cost:
        judged = [reply.by_judge.cost for reply in self.replies if reply.by_judge is not None]
        return total_cost([cost for cost in judged if cost is not None])

    @property
    def cost(self) -> Cost:
        """What candidate and judge cost together."""
        return total_cost([self.reply_cost, self.judge_cost])

    def rows(self) -> list[RunRow]:
        """The replies as figures, to compare with those of another prompt."""
        return [_row(reply) for reply in self.replies if not reply.lacks_score]

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
            "repeats": self.repeats,
            "cases": [_scenario_to_dict(one) for one in self.scenario_scores],
            "assertions": [
                {"case": spoken.case, "assertion": one.words, "passed": one.passed, "why": f"it {one.why}"}
                for spoken, one in self.assertions
            ],
            "latency_ms": None if self.latency is None else {"median": self.latency[0], "max": self.latency[1]},
            "flags": {flag: [reply.spoken.case for reply in raised] for flag, raised in self.flagged},
            "disagreements": [
                {"case": d.case, "dimension": d.dimension, "rules": d.by_rules, "judge": d.by_judge}
                for d in self.disagreements
            ],
            "replies": [_reply_to_dict(reply) for reply in self.replies],
            "missing": [{"case": spoken.case, "reason": spoken.failure} for spoken in self.missing],
            "usd": self.cost.usd,
        }


async def run_trial(
    candidate: Candidate,
    scenarios: Sequence[Scenario],
    judges: ReplyJudges,
    *,
    name: str,
    jobs: int = 8,
    on_reply: Callable[[SpokenTurn], None] = lambda _: None,
    repeat: int = 1,
) -> Trial:
    """Hold a trial in memory, several conversations at once. `execute_trial` keeps what it comes to in a folder."""
    places = asyncio.Semaphore(jobs)

    async def one(scenario: Scenario, number: int) -> list[SpokenTurn | JudgedReply]:
        async with places:
            found: list[SpokenTurn | JudgedReply] = []
            for turn in await converse(candidate, scenario, number):
                found.append(turn if turn.context is None else await judges.judge(turn))
                on_reply(turn)
            return found

    stopped: Sequence[Exception] = ()
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(scenario, number)) for number in range(repeat) for scenario in scenarios]
    except* RubricaError as errors:  # such as a full disk
        stopped = errors.exceptions
    if stopped:
        raise stopped[0]  # one says it for all; up there, Python 3.11.2 would wrap it in a group again
    found = [turn for task in tasks for turn in task.result()]
    return Trial.of(name, candidate.model.name, found, judges.rubric)


def _decided(replies: Sequence[JudgedReply], absent: int, terms: DecisionTerms) -> Decision:
    """The decision about replies; so many others are `absent`, and what the judge owes a score is missing too."""
    scores: dict[str, list[float]] = {}
    dimensions: dict[str, list[float]] = {}
    for reply in replies:
        score = _value(reply, OVERALL)
        if score is not None:
            scores.setdefault(reply.spoken.scenario.id, []).append(score)
        for name in reply.by_rules.dimensions:
            value = _value(reply, name)
            if value is not None:
                dimensions.setdefault(name, []).append(value)
    vetoes: dict[str, list[str]] = {}
    for reply in replies:
        for reason in reply.vetoes.values():
            vetoes.setdefault(reason, []).append(reply.spoken.case)
    missing = absent + sum(_value(reply, OVERALL) is None for reply in replies)
    chance = Random(SEED)  # noqa: S311 - resampling, not a secret
    ends = _at_end(replies, 0), _at_end(replies, 1)
    decision = decide(scores, dimensions, missing, terms, chance, ends, vetoes)
    if absent and decision.label in ("deploy", "ab_test"):
        short = f"{absent} of {len(replies) + absent} replies {'is' if absent == 1 else 'are'} missing"
        reason = f"{short}, and one that must not be given may be among them"
        return replace(decision, label="inconclusive", reason=reason)
    return decision


def _within(found: Estimate | None) -> Estimate | None:
    """An interval of shares of full marks, which end at 0 and 1."""
    return None if found is None else Estimate(found.value, max(0.0, found.low), min(1.0, found.high))


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
    found = [reply.evaluation for reply in replies if _value(reply, OVERALL) is not None]
    return ReplyScores([one.bounds[end] / one.out_of for one in found], dimensions)


def _value(reply: JudgedReply, dimension: str) -> float | None:
    """A score that counts. Where the judge owes one, the neutral value that stands in for it was measured by nobody."""
    if dimension == OVERALL:
        return None if reply.lacks_score else reply.score
    result = reply.evaluation.dimensions[dimension]
    return None if result.status == "neutral" else result.share


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
        "latency_ms": reply.spoken.duration_ms or None,
        "score": reply.score,
        "rules": {name: result.share for name, result in reply.by_rules.dimensions.items()},
        "judge": {name: result.share for name, result in reply.by_model.items()} or None,
        "flags": reply.flags,
        "unscored": reply.unscored,
    }


def _scenario_to_dict(score: ScenarioScore) -> dict[str, Any]:
    interval = score.interval
    return {
        "scenario": score.scenario,
        "repeats": score.repeats,
        "mean": score.mean,
        "interval": None if interval is None else [interval.low, interval.high],
        "failed_assertions": score.failed,
    }
