"""The sandbox's view of one evaluation, escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from rubrica.engine.counterfactuals import GateRelease, VerdictFlip
from rubrica.llm.public import public_names
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.report.card import Card, DimensionRow, GateLine, HitLine, TextBlock
from rubrica.report.excerpt import TextRun, visible
from rubrica.report.figures import SOURCE_WORDS, count_of, figure, percent, signed
from rubrica.report.titles import title_of
from rubrica.studio.rubrics.drawing import badge
from rubrica.studio.rubrics.prose import table

MANY_HITS = 6
"""Rules of one dimension from which they are folded away."""


def summary(card: Card, rubric: Rubric, before: Evaluation | None = None) -> Markup:
    """Verdict, score and why. `before`: what it was with the rubric's own weights."""
    evaluation = card.evaluation
    moved = Markup("")
    if before is not None:
        moved = Markup('<p class="row"><span class="quiet">with its own weights:</span> {} <b>{}</b></p>').format(
            badge(before.verdict, rubric), figure(before.score)
        )
    open_score = Markup('<p class="quiet">No single score: what is missing leaves this range.</p>')
    chips = Markup("").join(Markup('<span class="chip">{}</span>').format(text) for text in card.chips)
    notes = Markup("").join(Markup('<p class="quiet">{}</p>').format(note) for note in evaluation.notes)
    return Markup(
        '<div class="is-{role} outcome"><div class="row">{badge}<span class="figure"><b>{score}</b> / {out_of}</span>'
        '</div>{bar}{open}{moved}<p>{reason}</p>{notes}<div class="row">{chips}</div></div>'
    ).format(
        role=card.role,
        badge=badge(evaluation.verdict, rubric),
        score=card.score,
        out_of=card.out_of,
        bar=card.score_bar,
        open=open_score if evaluation.score is None else "",
        moved=moved,
        reason=visible(card.reason),
        notes=notes,
        chips=chips,
    )


def gates(lines: Sequence[GateLine], rubric: Rubric) -> Markup:
    """The gates that fired or could not be judged; a word where there are some and none did."""
    if not lines:
        quiet = f"None of its {count_of(len(rubric.gates), 'gate')} fired." if rubric.gates else ""
        return Markup('<p class="quiet">{}</p>').format(quiet) if quiet else Markup("")
    told = Markup("").join(
        Markup('<li class="{}"><b>Gate {}:</b> {}. <span class="quiet">{}</span></li>').format(
            "fired" if line.fired else "unsure", line.name, line.effect, visible(line.reason)
        )
        for line in lines
    )
    return Markup('<ul class="fired-gates">{}</ul>').format(told)


def changes(found: Sequence[VerdictFlip], released: Sequence[GateRelease], rubric: Rubric) -> Markup:
    """What would change the verdict: one dimension at a time, all else the same, and gates that would not fire."""
    lines = [
        Markup("{} at <b>{}</b> or {} <span class='quiet'>({})</span> → {}").format(
            title_of(turn.dimension, rubric.dimensions[turn.dimension]),
            figure(turn.value),
            "more" if turn.is_increase else "less",
            "it has no score" if turn.now is None else f"now {figure(turn.now)}",
            badge(turn.verdict, rubric),
        )
        for turn in found
    ]
    lines += [
        Markup("Without the gate <b>{}</b> → {} <span class='quiet'>{}</span>").format(
            release.gate, badge(release.verdict, rubric), figure(release.score) if release.score is not None else ""
        )
        for release in released
    ]
    if not lines:
        only = len({rule.label for rule in rubric.verdicts} | {g.verdict for g in rubric.gates if g.verdict}) == 1
        said = "Nothing: this rubric has one verdict." if only else "No dimension alone, whatever its score."
        return Markup('<p class="quiet">{}</p>').format(said)
    return Markup('<ul class="would">{}</ul>').format(
        Markup("").join(Markup("<li>{}</li>").format(one) for one in lines)
    )


def dimensions(card: Card) -> Markup:
    """Every dimension and part with its score, its weight, who scored it and why."""
    rows = []
    for row in card.rows:
        name = Markup('<span class="{}">{}</span>').format("part" if row.part else "strong", row.title)
        weight = [percent(row.result.weight)] if card.weighted else []
        rows.append([name, _score(row), *weight, _scored_by(row), _why(row)])
    head = ["Dimension", "Score", *(["Weight"] if card.weighted else []), "Scored by", "Why"]
    return table(head, rows, (2,) if card.weighted else (), stacked=True)


def _score(row: DimensionRow) -> Markup:
    if row.result.value is None:
        return Markup('<i class="quiet">{}</i>').format(row.state)
    state = Markup('<br><i class="quiet">{}</i>').format(row.state) if row.state else ""
    return Markup('<span class="nowrap"><b>{}</b> <span class="quiet">on {}</span></span>{}{}').format(
        row.score, row.scale, row.bar, state
    )


def _scored_by(row: DimensionRow) -> Markup:
    if row.result.status in ("not_applicable", "not_needed"):
        return Markup("—")
    stand_in = Markup('<br><span class="warn">offline stand-in</span>') if row.result.offline else ""
    return Markup("{}{}").format(public_names(row.result.judge) or SOURCE_WORDS[row.result.source], stand_in)


def _why(row: DimensionRow) -> Markup:
    reason = Markup("<p>{}</p>").format(visible(row.reason or "—")) if row.reason or not row.hits else Markup("")
    if not row.hits:
        return reason + row.tree
    hits = Markup('<ul class="hits">{}</ul>').format(Markup("").join(_hit(hit) for hit in row.hits))
    if len(row.hits) > MANY_HITS:
        hits = Markup("<details><summary>{}</summary>{}</details>").format(count_of(len(row.hits), "rule"), hits)
    return reason + hits


def _hit(hit: HitLine) -> Markup:
    detail = Markup(' <span class="quiet">({})</span>').format(hit.detail) if hit.detail else ""
    quotes = Markup("").join(Markup(" <q>{}</q>").format(visible(quote)) for quote in hit.quotes)
    error = Markup(' <span class="wrong">could not be applied: {}</span>').format(hit.error) if hit.error else ""
    return Markup('<li><span class="points tone-{}">{}</span>{}<span>{}{}{}{}</span></li>').format(
        hit.tone, hit.points, hit.bar, visible(hit.reason), detail, quotes, error
    )


def texts(blocks: Iterable[TextBlock]) -> Markup:
    """The judged texts with what was matched marked in them, and what the marks stand for."""
    return Markup("").join(_text(block) for block in blocks)


def _text(block: TextBlock) -> Markup:
    key = Markup("").join(Markup('<li class="tone-{}">{}</li>').format(tone, title) for title, tone in block.key)
    shortened = ", shortened" if block.shortened else ""
    return Markup(
        '<section class="judged-text"><h3>{} <span class="quiet">{}{}</span></h3>'
        '<div class="told" dir="auto" tabindex="0">{}</div>{}</section>'
    ).format(
        block.title,
        count_of(block.length, "character"),
        shortened,
        Markup("").join(_piece(piece) for piece in block.pieces) or Markup('<i class="quiet">empty</i>'),
        Markup('<ul class="key">{}</ul>').format(key) if key else "",
    )


def _piece(piece: TextRun) -> Markup:
    match piece.kind:
        case "mark":
            return Markup('<mark class="tone-{}" title="{}">{}</mark>').format(
                piece.tone, piece.title, visible(piece.text)
            )
        case "gap":
            return Markup('<i class="quiet">… {} …</i>').format(piece.text)
        case "plain":
            return Markup("{}").format(visible(piece.text))


def side_by_side(first: tuple[Evaluation, Rubric], second: tuple[Evaluation, Rubric], names: tuple[str, str]) -> Markup:
    """Two evaluations of the same input: verdict, score and every dimension beside the other's."""
    (one, its_rubric), (other, other_rubric) = first, second
    rows: list[list[Markup | str]] = [
        ["Verdict", badge(one.verdict, its_rubric), badge(other.verdict, other_rubric), ""],
        [
            Markup("<b>Score</b>"),
            f"{figure(one.score)} / {figure(one.out_of)}",
            f"{figure(other.score)} / {figure(other.out_of)}",
            _difference_text(_share(one.score, one.out_of), _share(other.score, other.out_of)),
        ],
    ]
    titles = {**_titles(other_rubric), **_titles(its_rubric)}
    for name in dict.fromkeys((*one.dimensions, *other.dimensions)):
        a, b = one.dimensions.get(name), other.dimensions.get(name)
        rows.append(
            [
                titles[name],
                "no such dimension" if a is None else f"{figure(a.value)} / {figure(a.high)}",
                "no such dimension" if b is None else f"{figure(b.value)} / {figure(b.high)}",
                _difference_text(None if a is None else a.share, None if b is None else b.share),
            ]
        )
    fired = [", ".join(gate.name for gate in each.gates if gate.fired) or "none" for each in (one, other)]
    rows.append(["Gates that fired", *fired, ""])
    rows.append(["Why", visible(one.reason), visible(other.reason), ""])
    return table(("", *names, "Difference"), rows, (3,))


def _titles(rubric: Rubric) -> Mapping[str, str]:
    return {name: title_of(name, dimension) for name, dimension in rubric.dimensions.items()}


def _share(value: float | None, whole: float) -> float | None:
    return None if value is None else value / whole


def _difference_text(one: float | None, other: float | None) -> str:
    """From the second to the first, in percentage points of full marks."""
    if one is None or other is None:
        return "—"
    points = round((one - other) * 100, 1)
    return "same" if points == 0 else f"{signed(points)} points"
