"""Judging turns: every round by everything that is attached, beside the player's own earlier rounds.

Nothing here touches the database. What comes out is ready to be kept in one transaction, and to be told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from rubrica.engine.plan import Plan
from rubrica.errors import InputError
from rubrica.model.context import Context, Round
from rubrica.model.evaluation import Evaluation
from rubrica.scorers.rule_table import rule_types
from rubrica.store.columns import new_id
from rubrica.store.games import Attachment
from rubrica.store.rounds import PlayedRound
from rubrica.store.scores import NewScore
from rubrica.text.entities import entity_mentions
from rubrica.text.truncation import judged_part
from rubrica.workspace import score_records
from rubrica.workspace.access import Caller
from rubrica.workspace.score_records import DimensionScore, RuleLine, ScoreOutcome
from rubrica.workspace.spending import SpendingLimits
from rubrica.workspace.work_pool import RunInThread

from .composite import Composite, CompositePart, compose
from .fair_play import expected_reports, missing_reports, refuse_reports, rules_of
from .open_scores import (
    NO_ANSWER,
    at_lowest,
    dimension_failed,
    first_clause,
    judge_failed,
    next_try,
    tell_open,
    without_provider_errors,
)
from .overrides import overridden, overridden_hash
from .turns import AttachmentScore, AttachmentScores, PendingRound, PlayerTurn

PlanOf = Callable[[Mapping[str, Any], str], Plan]
"""The compiled plan of a definition, by its hash."""

PlansOf = Mapping[UUID, tuple[Plan, bool]]
"""The plan of each attached rubric, and whether it is written in the short form."""

FOUND = ("entities_mentioned", "patterns_detected")
"""What is worked out once when a round is kept, and stands beside what was sent."""


class ScoredAttachment(msgspec.Struct, frozen=True):
    """The score that an attached rubric gave a round."""

    id: UUID
    attachment_id: UUID
    rubric_id: UUID
    rubric: str  # its slug
    version: str
    dimension: str
    weight: float
    raw_score: float | None
    normalized_score: float | None


class RoundScoreReply(ScoredAttachment, frozen=True):
    """One score of a round, as it is told."""

    bounds: tuple[float, float]  # the normalised score lies between these
    verdict: str
    reason: str
    rule_breakdown: list[RuleLine]
    dimension_scores: dict[str, DimensionScore]


class KeptRoundScore(ScoredAttachment, frozen=True):
    """One score of a kept round."""

    verdict: str
    reason: str
    rule_breakdown: list[dict[str, Any]]
    dimension_scores: dict[str, Any]


class RoundReply(msgspec.Struct, frozen=True):
    """A round that was judged, as it is told."""

    player_id: UUID
    player: str
    round_number: int
    scores: list[RoundScoreReply]
    composite: Composite


@dataclass(frozen=True, slots=True)
class RoundExecution:
    """One round under one attached rubric."""

    evaluation: Evaluation
    outcome: ScoreOutcome
    snapshot: Mapping[str, Any]  # the context as it is kept


@dataclass(slots=True)
class JudgedRounds:
    """Everything that one request adds."""

    turns: Sequence[PlayerTurn]
    judged_at: datetime
    rounds: list[PlayedRound] = field(default_factory=list)
    scores: list[NewScore] = field(default_factory=list)
    told: list[RoundReply] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RoundJudging:
    """What judging needs beside the turns: compiled plans, who asks, the time, and what may be spent."""

    plan_of: PlanOf
    caller: Caller
    now: datetime
    run: RunInThread = asyncio.to_thread  # what takes long runs in a thread
    spending: SpendingLimits | None = None  # None: nothing is limited


async def judge_turns(turns: Sequence[PlayerTurn], session: RoundJudging) -> JudgedRounds:
    """Judge every round of some turns, each player's in the order of their numbers."""
    judged = JudgedRounds(turns, session.now)
    compiled = [(turn, await session.run(_plans, turn, session.plan_of)) for turn in turns]  # compiling may take long
    for turn, plans in compiled:
        _check_reports(turn, plans)
    async with AsyncExitStack() as paid:
        if session.spending is not None:
            work = [each for turn, plans in compiled for each in _work(turn, plans)]
            await paid.enter_async_context(session.spending.judging(session.caller, work))
        for turn, plans in compiled:
            for sheet in turn.sheets:
                await _judge_sheet(judged, turn, sheet, plans, session)
                await asyncio.sleep(0)  # many short rounds must not keep others waiting
    return judged


def composite_of(attachments: Sequence[Attachment], marks: AttachmentScores) -> Composite:
    """The composite of one round, from what each attached rubric gave it."""
    unjudged = AttachmentScore(None, (0.0, 1.0), "not judged yet")
    parts = []
    for attachment in attachments:
        mark = marks.get(attachment.id, unjudged)
        parts.append(
            CompositePart(
                attachment.id,
                attachment.slug,
                attachment.dimension,
                attachment.weight,
                mark.share,
                mark.bounds,
                mark.reason,
            )
        )
    return compose(parts)


def context_of(turn: PlayerTurn, sheet: PendingRound) -> Context:
    """A round as scorers see it: what was sent, and what the game knows."""
    content = {key: value for key, value in sheet.content.items() if key not in FOUND}
    metadata = content.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        content["metadata"] = {**(metadata or {}), "round_number": sheet.number}
    return Context.of(
        content,
        round_history=history(turn, sheet.number),
        game_config=turn.game.config,
        player_info=turn.entrant.player.info,
        session_id=str(turn.game.id),
    )


def history(turn: PlayerTurn, number: int | None) -> tuple[Round, ...]:
    """The player's own earlier rounds, oldest first: those before a number, or all that were read."""
    return tuple(_earlier(turn, earlier) for earlier in turn.before(number))


def kept_context(context: Context) -> dict[str, Any]:
    """The context as its score keeps it. Earlier rounds are kept themselves; what is kept of each here is its number,
    and the scores it had at the time."""
    plain = score_records.snapshot(context)
    if context.round_history:
        plain["round_history"] = [
            {"round_number": round_.round_number, "scores": round_.scores} for round_ in context.round_history
        ]
    return plain


async def _judge_sheet(
    judged: JudgedRounds, turn: PlayerTurn, sheet: PendingRound, plans: PlansOf, session: RoundJudging
) -> None:
    context = context_of(turn, sheet)
    asked = [plans[attachment.id] for attachment in sheet.lacking]
    evaluations = await score_records.judge_all([plan for plan, _ in asked], context, session.run)
    marks = turn.marks.setdefault(sheet.number, {})
    snapshot = kept_context(context)
    given = []
    for attachment, (_, short), evaluation in zip(sheet.lacking, asked, map(tell_open, evaluations), strict=True):
        given_outcome = score_records.outcome(evaluation, short=short)
        outcome = with_worst(given_outcome, evaluation, plans[attachment.id], context)
        told = evaluation if outcome is given_outcome else at_lowest(evaluation, outcome.reason)
        execution = RoundExecution(told, outcome, snapshot)
        row = _row(turn, sheet, attachment, execution, session)
        judged.scores.append(row)
        shown = execution.outcome if turn.trusted else _as_others_see(execution)
        given.append(_score_reply(row.id, attachment, shown))
        marks[attachment.id] = _mark(execution.outcome)
    player = turn.entrant.player
    if not sheet.stored:
        work = partial(_content, context, evaluations)
        content = await session.run(work) if len(context.response) > score_records.LONG_TEXT else work()
        turn.contents[sheet.number] = content
        judged.rounds.append(
            PlayedRound(new_id(session.now), turn.game.id, player.id, sheet.number, content, session.now)
        )
    whole = composite_of(turn.attachments, marks)
    shown_whole = whole if turn.trusted else without_provider_errors(whole)
    judged.told.append(RoundReply(player.id, player.name, sheet.number, given, shown_whole))


def _work(turn: PlayerTurn, plans: PlansOf) -> Iterator[tuple[Plan, Context]]:
    """The evaluations of a turn that ask a judge, each with about the context it will have."""
    foreseen = replace(turn, contents={**turn.contents, **{sheet.number: sheet.content for sheet in turn.sheets}})
    for sheet in turn.sheets:
        asked = [plan for attachment in sheet.lacking if score_records.asks_judge(plan := plans[attachment.id][0])]
        if asked:
            context = context_of(foreseen, sheet)
            yield from ((plan, context) for plan in asked)


def _plans(turn: PlayerTurn, plan_of: PlanOf) -> PlansOf:
    """Every attached rubric with its overrides."""
    plans = {}
    for attachment in turn.attachments:
        version = turn.definitions[attachment.version_id]
        definition = overridden(version.definition, attachment.config_overrides)
        plan = plan_of(definition, overridden_hash(version.hash, attachment.config_overrides))
        expected = expected_reports(rules_of(turn.game), plan.sources.metrics)
        if expected:
            plan = msgspec.structs.replace(
                plan, sources=msgspec.structs.replace(plan.sources, expected=expected), conclusions={}
            )
        plans[attachment.id] = plan, score_records.is_short(definition)
    return plans


def _check_reports(turn: PlayerTurn, plans: PlansOf) -> None:
    """Refuse what players may not report, and rounds that lack a report where the game says so."""
    rules = rules_of(turn.game)
    reads = {name for plan, _ in plans.values() for name in plan.sources.metrics}
    expected = {name for plan, _ in plans.values() for name in plan.sources.expected - plan.sources.defaults.keys()}
    for sheet in turn.sheets:
        if sheet.stored:
            continue
        if not (turn.trusted or sheet.measured):
            refuse_reports(rules, sheet.content, reads)
        if rules.missing == "refuse" and (lacking := missing_reports(expected, context_of(turn, sheet))):
            told = ", ".join(lacking)
            raise InputError(f"round {sheet.number} lacks {told}, and this game takes no round without (report it)")


def _earlier(turn: PlayerTurn, number: int) -> Round:
    content = turn.contents[number]
    whole = composite_of(turn.attachments, turn.marks.get(number, {}))
    known = {"composite": whole.score, **whole.by_dimension}
    return Round(
        round_number=number,
        prompt=content.get("prompt", ""),
        response=content.get("response", ""),
        scores={name: value for name, value in known.items() if value is not None},
        entities_mentioned=tuple(content.get("entities_mentioned", ())),
        patterns_detected=content.get("patterns_detected", {}),
        custom_metrics=content.get("custom_metrics", {}),
    )


def _content(context: Context, evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """What is kept of a round: what was sent, the named things in it, and the patterns that were found."""
    known = {name for round_ in context.round_history for name in round_.entities_mentioned or ()}
    known |= {part for name in known for part in name.split()}
    counting = {kind.name for kind in rule_types().values() if kind.finds_patterns}
    found: dict[str, int] = {}
    for evaluation in evaluations:
        for result in evaluation.dimensions.values():
            for hit in result.hits:
                if hit.type in counting and not hit.error:
                    found[hit.rule] = max(hit.count, found.get(hit.rule, 0))
    sent = context.model_copy(update={"round_history": (), "game_config": {}, "player_info": {}, "session_id": None})
    return {
        **score_records.snapshot(sent),
        "entities_mentioned": list(entity_mentions(judged_part(context.response).text, known)),
        "patterns_detected": found,
    }


def with_worst(
    outcome: ScoreOutcome, evaluation: Evaluation, planned: tuple[Plan, bool], context: Context
) -> ScoreOutcome:
    """An outcome that only a report leaves open, as the lowest it can be: leaving it out must not help."""
    plan, short = planned
    expected = plan.sources.expected - plan.sources.defaults.keys()
    missing = missing_reports(expected, context) if expected else []
    if outcome.normalized_score is not None or not missing or judge_failed(evaluation):
        return outcome
    low = outcome.bounds[0]
    start, end = plan.axes[0].ends
    return msgspec.structs.replace(
        outcome,
        raw_score=start + low * (end - start) if short else evaluation.bounds[0],
        normalized_score=low,
        bounds=(low, low),
        reason=f"{', '.join(missing)} was not reported: the lowest score that leaves counts",
    )


def _as_others_see(execution: RoundExecution) -> ScoreOutcome:
    """An outcome without what a provider said when it failed: that is for whoever made the game."""
    outcome, judged = execution.outcome, execution.evaluation.dimensions
    if outcome.normalized_score is not None:
        return outcome
    dimensions = {
        name: msgspec.structs.replace(score, reason=NO_ANSWER, parts=msgspec.UNSET)
        if score.value is None and dimension_failed(judged[name])
        else score
        for name, score in outcome.dimension_scores.items()
    }
    return msgspec.structs.replace(outcome, reason=first_clause(outcome.reason), dimension_scores=dimensions)


def _mark(outcome: ScoreOutcome) -> AttachmentScore:
    return AttachmentScore(
        outcome.normalized_score, outcome.bounds, "" if outcome.normalized_score is not None else outcome.reason
    )


def _row(
    turn: PlayerTurn,
    sheet: PendingRound,
    attachment: Attachment,
    execution: RoundExecution,
    session: RoundJudging,
) -> NewScore:
    outcome = execution.outcome
    is_open = outcome.normalized_score is None
    return NewScore(
        new_id(session.now),
        turn.game.id,
        turn.entrant.player.id,
        attachment.rubric_id,
        attachment.version_id,
        attachment.id,
        sheet.number,
        outcome.raw_score,
        outcome.normalized_score,
        outcome.verdict,
        outcome.rule_breakdown,
        outcome.dimension_scores,
        execution.snapshot,
        score_records.record(execution.evaluation),
        session.caller.user_id,
        session.now,
        low=outcome.bounds[0] if is_open else None,
        high=outcome.bounds[1] if is_open else None,
        retry_at=next_try(0, session.now) if judge_failed(execution.evaluation) else None,
    )


def _score_reply(score_id: UUID, attachment: Attachment, outcome: ScoreOutcome) -> RoundScoreReply:
    return RoundScoreReply(
        score_id,
        attachment.id,
        attachment.rubric_id,
        attachment.slug,
        attachment.version,
        attachment.dimension,
        attachment.weight,
        outcome.raw_score,
        outcome.normalized_score,
        outcome.bounds,
        outcome.verdict,
        outcome.reason,
        outcome.rule_breakdown,
        outcome.dimension_scores,
    )
