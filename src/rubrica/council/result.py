"""The result of a council session: answers, reviews, ranking, final answer, time and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec

from rubrica.model.evaluation import Cost, Evaluation

from .chair import FinalAnswer
from .events import MemberDropped, ReviewerCancelled, Stage
from .ranking import Ranking
from .review import AnswerReview
from .review_stage import ScoreChange
from .settings import CouncilSettings
from .task_rubrics import TaskChoice


class MemberAnswer(msgspec.Struct, frozen=True):
    """One member's answer, under the label that hides its author."""

    label: str
    model: str
    text: str
    words: int
    seconds: float
    cost: Cost | None
    cut: str = ""  # why there is no more of it; empty where it is whole
    broken: tuple[str, ...] = ()  # instructions of the question that it breaks, as code can check


class Refusal(msgspec.Struct, frozen=True):
    """A member that refused to answer, by its provider's word or in plain words: not ranked, and not lost."""

    model: str
    text: str


class MissingPart(msgspec.Struct, frozen=True):
    """What a session lacks to be complete, and why."""

    stage: Stage
    what: str
    why: str

    @property
    def told(self) -> str:
        """All of it in a line."""
        return f"{self.stage}: {self.what}: {self.why}"


class StageReport(msgspec.Struct, frozen=True):
    """How long a stage took and what it cost."""

    stage: Stage
    seconds: float
    cost: Cost | None  # None: nobody was asked


class SafetyReport(msgspec.Struct, frozen=True):
    """What the gates found that look at an answer before it is scored."""

    enabled: bool
    cap: float  # what an answer that fails scores at most
    failed: Mapping[str, tuple[str, ...]]  # reasons by label
    final_passed: bool | None = None  # None: not checked


class CouncilResult(msgspec.Struct, frozen=True, kw_only=True):
    """One session of a council. `to_dict` is what is printed, sent and saved."""

    question: str
    seed: int
    settings: CouncilSettings
    rubric: str  # name@version
    rubric_hash: str
    out_of: float  # full marks of a score
    tops: Mapping[str, float]  # full marks by dimension
    answers: tuple[MemberAnswer, ...]  # by label
    opinions: tuple[AnswerReview, ...]
    evaluations: Mapping[str, Evaluation]  # by label: the reviewers' means under the rubric, with every vote
    ranking: Ranking
    holistic: Ranking | None  # beside `ranking`, where both were asked for
    final: FinalAnswer
    dropped: tuple[MemberDropped, ...]
    safety: SafetyReport
    stages: tuple[StageReport, ...]
    cost: Cost | None  # of everything
    notes: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    cancelled: tuple[ReviewerCancelled, ...] = ()
    changes: tuple[ScoreChange, ...] = ()  # made in debates
    task: TaskChoice | None = None  # where the rubric was chosen by the question
    missing: tuple[MissingPart, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is missing: a quorum answered, somebody reviewed, and the chair's answer is whole."""
        return not self.missing

    @property
    def labels(self) -> dict[str, str]:
        """Which model wrote what, by label."""
        return {answer.label: answer.model for answer in self.answers}

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain = {
            "question": self.question,
            "answer": self.final.text,
            "ranking": _names(self.ranking.order),
            "ties": [_names(group) for group in self.ranking.ties],
            "unranked": _names(self.ranking.unranked),
            "evaluations": {name_of(answer.label): self._evaluation(answer.label) for answer in self.answers},
            "reviews": [_review(opinion) for opinion in self.opinions],
            "answers": {name_of(answer.label): _answer(answer) for answer in self.answers},
            "final": _plain(self.final),
            "metadata": self._metadata(),
            "complete": self.complete,
            "missing": [_plain(one) for one in self.missing],
            "refusals": [_plain(one) for one in self.refusals],
        }
        if self.holistic is not None:
            plain["holistic"] = {
                "ranking": _names(self.holistic.order),
                "ties": [_names(group) for group in self.holistic.ties],
                "scores": {name_of(one.label): one.value for one in self.holistic.standings},
            }
        return plain

    def to_json(self) -> str:
        """One line of JSON."""
        return msgspec.json.encode(self.to_dict()).decode()

    def overall(self, label: str) -> float | None:
        """The mean of the capped scores that reviewers gave an answer, however the ranking is pooled."""
        given = [one.score for one in self.opinions if one.label == label and one.score is not None]
        return round(fmean(given), 2) if given else None

    def _evaluation(self, label: str) -> dict[str, Any]:
        ranked_answer = next(one for one in self.ranking.standings if one.label == label)
        evaluation = self.evaluations.get(label)
        means = {
            name: None if result.value is None else round(result.value, 2)
            for name, result in (evaluation.dimensions if evaluation is not None else {}).items()
        }
        return {
            **means,
            "overall": self.overall(label),
            "notes": notes_on(label, self.opinions),
            "rank": ranked_answer.rank,
            "reviews": ranked_answer.reviews,
            "verdict": evaluation.verdict if evaluation is not None else None,
            "borda": ranked_answer.points,
            "borda_of": ranked_answer.most_points,
            "normalised": ranked_answer.share,
            "z": ranked_answer.z,
            "ceiling": self.ceiling(label),
        }

    def ceiling(self, label: str) -> dict[str, Any] | None:
        """What holds an answer's score down, by what reviewers gave it together; None where nothing does."""
        evaluation = self.evaluations.get(label)
        caps = [
            gate
            for gate in (evaluation.gates if evaluation is not None else ())
            if gate.fired and gate.effect == "cap" and gate.limit is not None
        ]
        lowest = min(caps, key=lambda gate: gate.limit or 0.0, default=None)
        return None if lowest is None else {"score": lowest.limit, "gate": lowest.name, "reason": lowest.reason}

    def _metadata(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "rubric": self.rubric,
            "rubric_hash": self.rubric_hash,
            "out_of": self.out_of,
            "tops": dict(self.tops),
            "models": list(settings.models),
            "labels": {name_of(label): model for label, model in self.labels.items()},
            "chair": self.final.chair,
            "fallback": self.final.fallback or None,
            "scoring": settings.scoring,
            "pool": self.ranking.pool,
            "exclude_self": settings.exclude_self,
            "tier": settings.tier,
            "deadline": settings.seconds,
            "quorum": settings.quorum,
            "seed": self.seed,
            "dropped": [{"model": one.model, "stage": one.stage, "reason": one.reason} for one in self.dropped],
            "safety_gate": {
                "enabled": self.safety.enabled,
                "score_cap": self.safety.cap,
                "failed_models": [self.labels[label] for label in self.safety.failed],
                "failed": {name_of(label): list(reasons) for label, reasons in self.safety.failed.items()},
                "final_passed": self.safety.final_passed,
            },
            "stages": {
                one.stage: {"seconds": round(one.seconds, 3), "cost": plain_cost(one.cost)} for one in self.stages
            },
            "seconds": round(self.seconds, 3),
            "cost": plain_cost(self.cost),
            "notes": list(self.notes),
            "cancelled": [{"model": one.model, "stage": "reviews", "reason": one.reason} for one in self.cancelled],
            "debate": {
                "rounds": settings.limits.debate,
                "changes": [_change(one) for one in self.changes],
            },
            "task": None if self.task is None else _plain(self.task),
            "reviewer_weights": dict(settings.reviewer_weights),
            "tokens": {
                "answers": settings.limits.tokens,
                "reviews": settings.limits.review_tokens,
                "final": settings.limits.final_tokens,
            },
        }


def name_of(label: str) -> str:
    """An answer as results name it: ``Response A``."""
    return f"Response {label}"


def notes_on(label: str, opinions: Sequence[AnswerReview]) -> str:
    """What reviewers noted about an answer, a line each, without their names."""
    return "\n".join(opinion.notes for opinion in opinions if opinion.label == label and opinion.notes)


def _names(labels: Sequence[str]) -> list[str]:
    return [name_of(label) for label in labels]


def _review(opinion: AnswerReview) -> dict[str, Any]:
    plain = _plain(opinion)
    return {"reviewer": plain.pop("reviewer"), "response": name_of(plain.pop("label")), **plain}


def _answer(answer: MemberAnswer) -> dict[str, Any]:
    return {
        "model": answer.model,
        "text": answer.text,
        "words": answer.words,
        "seconds": round(answer.seconds, 3),
        "cost": plain_cost(answer.cost),
        "cut": answer.cut or None,
        "broken_instructions": list(answer.broken),
    }


def _change(change: ScoreChange) -> dict[str, Any]:
    plain = _plain(change)
    return {"reviewer": plain.pop("reviewer"), "response": name_of(plain.pop("label")), **plain}


def plain_cost(cost: Cost | None) -> dict[str, Any] | None:
    """A cost with everything that is known of it, and null for what is not."""
    if cost is None:
        return None
    return {"usd": cost.usd, "input_tokens": cost.input_tokens, "output_tokens": cost.output_tokens}


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return plain
