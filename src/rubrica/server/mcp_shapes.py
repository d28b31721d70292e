"""The results of MCP tools: enough for an agent to act on, not the whole record."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rubrica.council.result import CouncilResult, notes_on
from rubrica.council.tiers import TokenLimit
from rubrica.council.verdict_mode import Choice, Decision, MemberVote, VerdictResult
from rubrica.model.evaluation import DimensionResult, Evaluation


class AnswerPlace(BaseModel):
    """Where one model's answer came out."""

    model: str
    rank: int | None = Field(description="1 is best; tied answers share a place; null: nobody scored it")
    score: float | None = Field(description="mean of the reviewers' scores")
    notes: str = Field(description="what reviewers noted")


class TokenLimits(BaseModel):
    """How many tokens a council may write, by stage. What is left out is as the tier says."""

    model_config = ConfigDict(extra="forbid")

    answers: TokenLimit | None = Field(None, description="of one answer")
    reviews: TokenLimit | None = Field(None, description="of one review")
    final: TokenLimit | None = Field(None, description="of the final answer")


class Failed(BaseModel):
    """A model that gave nothing usable in a stage."""

    model: str
    stage: str
    reason: str


class Advice(BaseModel):
    """What a council came to."""

    answer: str = Field(description="the council's final answer")
    chair: str | None = Field(description="who was asked to write it")
    fallback: str = Field(description="why the best answer stands instead of the chair's; empty: it does not")
    out_of: float = Field(description="full marks of a score")
    ranking: list[AnswerPlace] = Field(description="the members' answers from best to worst")
    complete: bool = Field(description="false: something is missing, and `missing` says what and why")
    missing: list[str] = Field(description="a quorum, reviews, or the end of the final answer")
    refusals: list[str] = Field(description="the models that refused to answer")
    failed: list[Failed] = Field(description="who did not take part in a stage, and why")
    notes: list[str] = Field(description="what to know about the ranking")
    seconds: float
    usd: float | None = Field(description="US dollars; null: not known")


class VoteReply(BaseModel):
    """One model's vote."""

    model: str
    vote: Choice
    confidence: float = Field(description="that the vote is right, 0.5 to 1, as the model says")
    reason: str
    changed_from: Choice | None = Field(description="what it was before the debate; null: the same")


class VerdictReply(BaseModel):
    """What a council decides by yes or no."""

    verdict: Decision
    why: str = Field(description="why it is undecided; empty: it is not")
    agreement: float | None = Field(description="the share of the yes and no votes that the verdict has")
    confidence: float | None = Field(description="the chance that the votes together give the verdict")
    votes: list[VoteReply]
    dissent: list[VoteReply] = Field(description="the votes against the verdict, the surest first")
    complete: bool = Field(description="false: too few have voted")
    refusals: list[str] = Field(description="the models that refused to vote")
    failed: list[Failed] = Field(description="who did not vote, and why")
    seconds: float
    usd: float | None = Field(description="US dollars; null: not known")


class DimensionReply(BaseModel):
    """One dimension of a judged response."""

    score: float | None = Field(description="null: it was not scored, the reason says why")
    lowest: float
    highest: float
    reason: str
    judged_by: str = Field(description="the model that was asked; empty: code")


class EvaluationReply(BaseModel):
    """What a rubric says about a response."""

    rubric: str = Field(description="name@version")
    verdict: str
    reason: str = Field(description="why this verdict")
    score: float | None = Field(description="null: what is missing leaves it open")
    bounds: tuple[float, float] = Field(description="the score lies between these; apart, it is an estimate")
    out_of: float
    threshold: float | None = Field(description="the score that passes, where the rubric has one")
    offline: bool = Field(description="whether code stood in for a judge")
    dimensions: dict[str, DimensionReply]
    gates: list[str] = Field(description="gates that fired, and why")
    notes: list[str] = Field(description="what was assumed, and what could not be applied")
    usd: float | None = Field(description="US dollars; null: not known")


class RubricLine(BaseModel):
    """A rubric in a list."""

    name: str = Field(description="what judge and rubric take")
    title: str
    about: str
    source: str = Field(description="folder, bundled or server")


class RubricsReply(BaseModel):
    """The rubrics that may be named."""

    rubrics: list[RubricLine]
    more: bool = Field(description="whether the server has more than are listed")


class RubricReply(BaseModel):
    """One rubric."""

    name: str
    version: str
    definition: dict[str, Any]


class HealthReply(BaseModel):
    """What is there, and what is wrong."""

    ok: bool
    version: str = Field(description="of Rubrica")
    models: list[str] = Field(description="of the council; none: there is no council")
    judged_by_models: bool = Field(description="whether a judge is asked for rubrics that are judged here")
    server: str | None = Field(description="the Rubrica server whose rubrics are used; null: none")
    user: str | None = Field(description="whose key is used there; null: there is no server, or it does not answer")
    problems: list[str]


def advice_of(result: CouncilResult) -> Advice:
    """A council's result in short."""
    return Advice(
        answer=result.final.text,
        chair=result.final.chair,
        fallback=result.final.fallback,
        out_of=result.out_of,
        ranking=[
            AnswerPlace(
                model=result.labels[one.label],
                rank=one.rank,
                score=result.overall(one.label),
                notes=notes_on(one.label, result.opinions),
            )
            for one in result.ranking.standings
        ],
        complete=result.complete,
        missing=[one.told for one in result.missing],
        refusals=[one.model for one in result.refusals],
        failed=[Failed(model=one.model, stage=one.stage, reason=one.reason) for one in result.dropped],
        notes=list(result.notes),
        seconds=round(result.seconds, 3),
        usd=result.cost.usd if result.cost is not None else None,
    )


def verdict_of(result: VerdictResult) -> VerdictReply:
    """A verdict in short."""
    return VerdictReply(
        verdict=result.verdict,
        why=result.why,
        agreement=result.agreement,
        confidence=result.confidence,
        votes=[_vote(one) for one in result.votes],
        dissent=[_vote(one) for one in result.dissent],
        complete=result.complete,
        refusals=[one.model for one in result.refusals],
        failed=[Failed(model=one.model, stage=one.stage, reason=one.reason) for one in result.dropped],
        seconds=round(result.seconds, 3),
        usd=result.cost.usd if result.cost is not None else None,
    )


def _vote(one: MemberVote) -> VoteReply:
    return VoteReply(
        model=one.model, vote=one.vote, confidence=one.confidence, reason=one.reason, changed_from=one.changed_from
    )


def judged_of(evaluation: Evaluation) -> EvaluationReply:
    """An evaluation in short."""
    return EvaluationReply(
        rubric=f"{evaluation.rubric}@{evaluation.version}",
        verdict=evaluation.verdict,
        reason=evaluation.reason,
        score=evaluation.score,
        bounds=evaluation.bounds,
        out_of=evaluation.out_of,
        threshold=evaluation.threshold,
        offline=evaluation.offline,
        dimensions={name: _dimension(found) for name, found in evaluation.dimensions.items()},
        gates=[f"{gate.name}: {gate.reason or gate.when}" for gate in evaluation.gates if gate.fired],
        notes=[*evaluation.notes, *evaluation.errors],
        usd=0.0 if evaluation.cost is None else evaluation.cost.usd,
    )


def _dimension(found: DimensionResult) -> DimensionReply:
    judge = (found.judge or "a panel") if found.source == "llm" else ""
    return DimensionReply(score=found.value, lowest=found.low, highest=found.high, reason=found.why, judged_by=judge)
