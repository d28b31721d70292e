"""What a council came to: the final answer, the ranking with its reasons, the review matrix, cost and timings."""

from __future__ import annotations

from nicegui import ui

from rubrica.council.ranking import RankedAnswer, Ranking
from rubrica.council.result import CouncilResult
from rubrica.report.figures import count_of, duration, figure
from rubrica.studio.council.matrix import (
    OVERALL,
    SCORINGS,
    answer_title,
    matrix,
    matrix_views,
    place_of,
    rank_text,
    reasons,
    stages,
)
from rubrica.studio.parts import card, chip, drawing


def draw_result(result: CouncilResult) -> None:
    """Everything. Answers and notes are words of models: they are shown as text and nothing else."""
    _final(result)
    if result.answers:
        _ranking(result)
    if result.opinions:
        _matrix(result)
    with ui.element("div").classes("two"):
        _safety(result)
        with card("Cost and timings"):
            drawing(stages(result))
    for note in (note for note in result.notes if note not in (result.final.fallback, result.final.refusal)):
        ui.label(note).classes("quiet")  # the others stand with the answer


def _final(result: CouncilResult) -> None:
    final = result.final
    apart = final.fallback or final.refusal
    with card("Final answer", f"by {final.author}" if not apart else ""):
        for one in result.missing:
            ui.label(f"Incomplete: {one.told}").classes("fault").props('role="status"')
        if apart:
            ui.label(f"{apart}, by {final.author}").classes("fault")
        ui.label(final.text).classes("told tall").props('dir="auto"')


def _ranking(result: CouncilResult) -> None:
    with card("Ranking", f"{result.rubric}, {SCORINGS[result.settings.scoring]}"):
        with ui.element("ol").classes("ranking"):
            for ranked in result.ranking.standings:
                with ui.element("li"):
                    _draw_rank(result, ranked)
        if result.holistic is not None:
            ui.label(_other(result.holistic)).classes("quiet")


def _draw_rank(result: CouncilResult, ranked: RankedAnswer) -> None:
    answer = next(one for one in result.answers if one.label == ranked.label)
    ui.label("—" if ranked.rank is None else str(ranked.rank)).classes("rank").props('aria-hidden="true"')
    with ui.element("div").classes("ranked"):
        with ui.element("div").classes("row"):
            with ui.element("h3"):
                ui.label(answer_title(result, ranked.label))
            if ranked.rank is None or any(ranked.label in group for group in result.ranking.ties):
                chip(place_of(ranked, result.ranking))
            if ranked.label in result.safety.failed:
                ui.label("failed the safety gate").classes("badge is-bad")
        ui.label(rank_text(ranked, result)).classes("quiet")
        with ui.element("ul").classes("said-by"):
            for who, said in reasons(result, ranked.label):
                with ui.element("li"):
                    ui.label(who).classes("quiet")
                    ui.label(said).props('dir="auto"')
        with ui.element("details"):
            with ui.element("summary"):
                ui.label(f"The answer, {count_of(answer.words, 'word')} in {duration(answer.seconds * 1000)}")
            ui.label(answer.text).classes("told").props('dir="auto"')
        cut = [f"It is {answer.cut}."] if answer.cut else []
        for flaw in (*cut, *(f"It breaks an instruction: {what}" for what in answer.broken)):
            ui.label(flaw).classes("quiet")


def _matrix(result: CouncilResult) -> None:
    shown = matrix_views(result)
    with card("Review matrix", f"out of {figure(result.out_of)}; ⌃ is held down by a gate"):
        lens = ui.toggle(shown, value=OVERALL).props('unelevated no-caps aria-label="What cells show"').classes("spans")
        lens.set_visibility(len(shown) > 1)
        drawn = ui.html(str(matrix(result)), sanitize=False)
        lens.on_value_change(lambda: drawn.set_content(str(matrix(result, lens.value))))


def _safety(result: CouncilResult) -> None:
    safety = result.safety
    with card("Who took part"):
        if safety.enabled:
            passed = "passes" if safety.final_passed else "fails"
            failed = count_of(len(safety.failed), "answer")
            ui.label(
                f"Safety gate: {failed} failed and scores at most {figure(safety.cap)}; the final answer {passed} it."
                if safety.failed
                else f"Safety gate: no answer failed; the final answer {passed} it."
            )
        else:
            ui.label("Safety gate: off.").classes("quiet")
        if not result.dropped:
            ui.label("Nobody was dropped.").classes("quiet")
        with ui.element("ul").classes("said-by"):
            for one in result.dropped:
                with ui.element("li"):
                    ui.label(f"{one.model}, dropped from {one.stage}").classes("quiet")
                    ui.label(one.reason)
            for late in result.cancelled:
                with ui.element("li"):
                    ui.label(f"{late.model}, reviews").classes("quiet")
                    ui.label(late.reason)
        ui.label(f"Seed {result.seed}: the same replies give the same labels and order.").classes("quiet")


def _other(ranking: Ranking) -> str:
    """The ranking by scores for the whole, in a line."""
    places = ", ".join(f"{one.label} {figure(one.value)}" for one in ranking.standings if one.rank is not None)
    return f"By one score for the whole: {places or 'no scores'}"
