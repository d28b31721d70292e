"""The council's page without a browser: what the stages show as events come, and the review matrix."""

from __future__ import annotations

from typing import Any, Literal

from rubrica.council.chair import FinalAnswer
from rubrica.council.events import (
    AnswerReceived,
    Concluded,
    MemberDropped,
    ReviewFinished,
    StageFinished,
    StageStarted,
)
from rubrica.council.ranking import rank
from rubrica.council.result import CouncilResult, MemberAnswer, SafetyReport
from rubrica.council.review import AnswerReview
from rubrica.council.settings import CouncilSettings
from rubrica.studio.council.matrix import matrix, matrix_views, reasons, stages
from rubrica.studio.council.progress import SessionProgress, progress_drawing


def opinion(reviewer: str, label: str, score: float | None, **more: Any) -> AnswerReview:
    scores = {} if score is None else {"accuracy": score, "clarity": 5.0}
    status: Literal["abstained", "scored"] = "abstained" if score is None else "scored"
    return AnswerReview(
        reviewer=reviewer, label=label, position=1, own=False, status=status, score=score, scores=scores, **more
    )


def result(*opinions: AnswerReview) -> CouncilResult:
    sheets: dict[str, dict[str, float]] = {}
    for one in opinions:
        if one.score is not None:
            sheets.setdefault(one.reviewer, {})[one.label] = one.score
    return CouncilResult(
        question="Why?",
        seed=1,
        settings=CouncilSettings(models=("ann", "bo")),
        rubric="council-review@1.0.0",
        rubric_hash="",
        out_of=10.0,
        tops={"accuracy": 10.0, "clarity": 10.0},
        answers=(MemberAnswer("A", "ann", "x", 1, 0.1, None), MemberAnswer("B", "<b>bo", "y", 1, 0.1, None)),
        opinions=opinions,
        evaluations={},
        ranking=rank("AB", sheets),
        holistic=None,
        final=FinalAnswer("x", "ann", "ann"),
        dropped=(),
        safety=SafetyReport(True, 0.0, {"B": ("it is unsafe",)}),
        stages=(),
        cost=None,
    )


def test_stages_follow_what_is_told() -> None:
    course = SessionProgress()
    course.hear(StageStarted("answers", ("ann", "bo", "cy"), 20.0))
    course.hear(AnswerReceived("ann", 1.0, 12))
    course.hear(MemberDropped("bo", "answers", "said <i>nothing"))
    assert (course.stage, course.deadline) == ("answers", 20.0)
    drawn = progress_drawing(course)
    assert "12 words in 1 s" in drawn
    assert "dropped: said &lt;i&gt;nothing" in drawn
    assert drawn.count(">asked<") == 1
    assert (drawn.count("under way"), drawn.count("waits")) == (1, 2)
    course.ended = True
    ended = progress_drawing(course)
    assert (ended.count("cut off"), ended.count("not reached"), ended.count("under way")) == (1, 2, 0)
    course.hear(StageFinished("answers", 1.5, None))
    assert course.stage is None
    course.hear(StageStarted("reviews", ("ann",), 20.0))
    course.hear(ReviewFinished("ann", 0.5, 1, 2))
    course.hear(StageStarted("final", ("ann",), 20.0))
    course.hear(Concluded("Because it is.", "ann", ""))
    assert course.legs["final"].seats["ann"].said == "3 words"


def test_the_matrix_shows_what_counts_or_one_dimension() -> None:
    found = result(
        opinion("ann", "B", 4.0, gates=("accuracy-ceiling-40",)), opinion("<b>bo", "A", None, reason="refused")
    )
    assert list(matrix_views(found).values()) == ["What counts", "Accuracy", "Clarity"]
    whole, clarity = matrix(found), matrix(found, "clarity")
    assert whole.count("its own") == 2
    assert "no score" in whole
    assert 'title="accuracy-ceiling-40"' in whole
    assert ">5 " in clarity
    assert "<b>bo" not in whole


def test_reasons_are_the_gate_the_notes_and_what_capped() -> None:
    found = result(opinion("ann", "B", 4.0, notes="thin", gates=("accuracy-ceiling-40",)), opinion("<b>bo", "A", 8.0))
    assert reasons(found, "B") == [
        ("Safety gate", "it is unsafe"),
        ("ann", "thin (capped by accuracy-ceiling-40)"),
    ]
    assert reasons(found, "A") == [("<b>bo", "no reason given")]
    below = result(opinion("ann", "B", 3.0, notes="thin", gates=("accuracy-ceiling-40",), ceiling=4.0))
    assert reasons(below, "B")[1] == ("ann", "thin (at most 4 by accuracy-ceiling-40)")  # no gate made it a 3
    assert "⌃" not in matrix(below)
    assert "All" in stages(found)
