"""One round of a game: what was sent, what each rubric gave it, and where every point came from."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import MissingError, RubricaError
from rubrica.games.games import hosts
from rubrica.games.judging import KeptRoundScore
from rubrica.games.round_details import OpenedRound, open_round
from rubrica.games.submission import HIGHEST_NUMBER
from rubrica.model.evaluation import Step
from rubrica.model.rubric import Rubric
from rubrica.report.charts import share_bar, short, waterfall
from rubrica.report.excerpt import visible
from rubrica.report.figures import figure, headline, percent, signed
from rubrica.report.titles import dimension_titles
from rubrica.store.games import Attachment
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, chip, drawing, error_label, escaped_lines, heading
from rubrica.studio.rubrics.drawing import badge
from rubrica.studio.rubrics.prose import table
from rubrica.studio.runs.explanation import explanation
from rubrica.studio.studio import Studio
from rubrica.workspace.draft import rubric_of
from rubrica.workspace.score_records import kept_evaluation

from .voiding import VoidingButton

LABEL = 17
"""Characters of a rubric's name in the drawing."""


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/games/{game_id}/rounds/{player}/{number}")
    async def game_round(request: Request, game_id: str, player: str, number: str) -> None:
        visitor = studio.visitor(request)
        back = ("The game", f"/games/{game_id}?tab=rounds")
        try:
            known, counted = _known(game_id, number)
            opened = await visitor.read(open_round, known, player, counted)
            rubrics, drawn = await asyncio.to_thread(_explained, opened)
        except RubricaError as error:
            with frame(visitor, "No such round", "/games"):
                with heading("No such round", back=back):
                    pass
                error_label(error)
            return
        title = f"Round {opened.round.round_number} of {opened.round.player}"
        with frame(visitor, title, "/games"):
            with heading(title, back=(opened.view.game.name, back[1])):
                if hosts(visitor.caller, opened.view.game) and visitor.caller.may("author"):
                    VoidingButton(visitor, opened.view.game, opened.round).draw()
            _draw(opened, rubrics, drawn)


def _draw(opened: OpenedRound, rubrics: Mapping[UUID, Rubric], drawn: Mapping[UUID, Markup]) -> None:
    found = opened.round
    with ui.element("div").classes("row"):
        chip(f"played {found.created_at:%Y-%m-%d %H:%M} UTC")
        if found.voided is not None:
            chip(f"voided: {found.voided.reason}")
    with ui.element("div").classes("two"):
        with card("Score", "each rubric's share of full marks, by its weight"):
            _composite(opened)
        with card("What was sent"):
            if found.hidden:
                ui.label("Hidden until the game's rule reveals it.").classes("quiet")
            for key in ("prompt", "response"):
                if found.content.get(key):
                    ui.label(headline(key)).classes("label")
                    ui.html(str(escaped_lines(visible(str(found.content[key])))), sanitize=False).classes("told").props(
                        'dir="auto" tabindex="0"'
                    )
            _measured(found.content)
    with card("Rubric by rubric"):
        if found.scores:
            drawing(_parts(found.scores, rubrics))
        for missing in found.composite.missing:
            ui.label(f"{missing.rubric} gave no score: {missing.reason}").classes("quiet")
    for score in found.scores:
        ui.html(str(drawn[score.id]), sanitize=False).classes("report")


def _composite(opened: OpenedRound) -> None:
    whole = opened.round.composite
    if whole.score is not None:
        drawing(Markup('<p class="figure"><b>{}</b></p>').format(percent(whole.score)))
    else:
        low, high = whole.bounds
        told = f"No single score: it lies between {figure(round(100 * low, 1))} and {percent(high)}."
        ui.label(told).classes("quiet")
    drawing(waterfall(steps_of(opened.view.attachments, opened.round.scores), top=100.0))


def steps_of(attachments: Sequence[Attachment], given: Sequence[KeptRoundScore]) -> list[Step]:
    """How the composite adds up, in hundredths: what each rubric adds is its share times its weight."""
    by_attachment = {score.attachment_id: score for score in given}
    steps: list[Step] = []
    total = 0.0
    for attachment in attachments:
        score = by_attachment.get(attachment.id)
        share = None if score is None else score.normalized_score
        amount = 0.0 if share is None else round(100 * share * attachment.weight, 6)
        total += amount
        steps.append(Step("dimension", short(attachment.slug, LABEL), amount, round(total, 6)))
    return steps


def _parts(given: Sequence[KeptRoundScore], rubrics: Mapping[UUID, Rubric]) -> Markup:
    rows = []
    for score in given:
        share = score.normalized_score
        name = Markup('<a href="#score-{}">{}</a> <span class="quiet">@{}</span>').format(
            score.id, score.rubric, score.version
        )
        rows.append(
            [
                name,
                rubrics[score.id].display_title if score.dimension == score.rubric else headline(score.dimension),
                Markup("<b>{}</b>{}").format(percent(share), share_bar(share)),
                percent(score.weight),
                "—" if share is None else signed(round(100 * share * score.weight, 2)),
                badge(score.verdict, rubrics[score.id]),
            ]
        )
    return table(("Rubric", "Dimension", "Share", "Weight", "Adds", "Verdict"), rows, (3, 4))


def _measured(content: Mapping[str, Any]) -> None:
    values = {**content.get("metadata", {}), **content.get("custom_metrics", {})}
    values.pop("round_number", None)  # the title says it
    if values:
        with ui.element("div").classes("row"):
            for name, value in values.items():
                chip(f"{name}: {figure(value) if isinstance(value, int | float) else value}")


def _explained(opened: OpenedRound) -> tuple[dict[UUID, Rubric], dict[UUID, Markup]]:
    """What each score was judged by, and each explained: in full where it may be seen, else by what its rules gave."""
    rubrics, drawn = {}, {}
    for score in opened.round.scores:
        rubric = rubrics[score.id] = rubric_of(opened.rubrics[score.attachment_id])
        stored = opened.stored.get(score.id)
        inner = _breakdown(score, rubric) if stored is None else explanation(kept_evaluation(stored), rubric)
        drawn[score.id] = Markup('<div id="score-{}">{}</div>').format(score.id, inner)
    return rubrics, drawn


def _breakdown(score: KeptRoundScore, rubric: Rubric) -> Markup:
    titles = dimension_titles(rubric)

    def title(name: str) -> str:
        return titles.get(name) or headline(name)

    rules = [
        [line.get("rule", ""), title(line.get("dimension", "")), signed(line.get("points", 0)), visible(_why(line))]
        for line in score.rule_breakdown
    ]
    own = [
        [title(name), figure(found.get("value")), percent(found.get("share")), visible(found.get("reason") or "—")]
        for name, found in score.dimension_scores.items()
    ]
    return Markup('<section class="card"><h2>{} {}</h2><p>{}</p>{}{}</section>').format(
        rubric.display_title,
        badge(score.verdict, rubric),
        visible(score.reason),
        table(("Dimension", "Score", "Share", "Why"), own, (1, 2)),
        table(("Rule", "Dimension", "Points", "Why"), rules, (2,)) if rules else "",
    )


def _why(line: Mapping[str, Any]) -> str:
    error = line.get("error")
    return f"could not be applied: {error}" if error else str(line.get("reason") or "—")


def _known(game_id: str, number: str) -> tuple[UUID, int]:
    try:
        known, counted = UUID(game_id), int(number)
    except ValueError:
        raise MissingError("there is no such round") from None
    if not 1 <= counted <= HIGHEST_NUMBER:
        raise MissingError("there is no such round")
    return known, counted
