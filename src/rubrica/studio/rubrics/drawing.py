"""A rubric as graphics: weights as bars, anchors as a band, gates and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rubrica.errors import FormulaError, FormulaFault
from rubrica.formula import Formula, parse
from rubrica.model.decisions import Gate, Profile, Verdict
from rubrica.model.dimensions import Axis, Dimension, Part, Recipe
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.packs.validity import ScoreCard, cards_of, figures_of
from rubrica.phrases import marked, phrase
from rubrica.report.figures import count_of, figure, headline, percent, signed
from rubrica.report.roles import SIGNS, Role, role_of
from rubrica.report.titles import dimension_title, title_of
from rubrica.report.wording import TRUST, condition, profile_phrase, recipe_phrases, reliability_phrases, setting_value
from rubrica.studio.builder.anchors import coverage, rows_of

from .prose import bullets, table, words

STEPS = 1000
"""Scores at which the verdict is looked up to find where one ends and the next begins."""
SCORED_BY = {
    "judge": "a judge",
    "rules": "rules",
    "formula": "a formula",
    "check": "a checklist",
    "parts": "its parts",
}


@dataclass(frozen=True, slots=True)
class Zone:
    """The scores from `low` to `high` that end in one verdict."""

    label: str
    low: float
    high: float


def badge(label: str, rubric: Rubric | None) -> Markup:
    """A verdict in the colour of what it means, and with its sign."""
    role: Role = role_of(label, rubric)
    return Markup('<span class="badge is-{}"><span aria-hidden="true">{}</span> {}</span>').format(
        role, SIGNS[role], label.replace("_", " ")
    )


def dimensions(rubric: Rubric) -> Markup:
    """Every dimension with its weight, its question and its anchors."""
    drawn = (_dimension(name, dimension, rubric.scale_of(name)) for name, dimension in rubric.dimensions.items())
    return Markup('<div class="axes">{}</div>').format(Markup("").join(drawn))


def _dimension(name: str, dimension: Dimension, scale: Scale) -> Markup:
    inner = _axis(dimension, scale)
    if dimension.applies is not None:
        inner = Markup('<p class="quiet">Only if <code>{}</code>.</p>').format(dimension.applies) + inner
    inner += _parts(dimension.parts, scale)
    stand_in = " (rules stand in without a model)" if dimension.offline is not None else ""
    by = Markup('<p class="quiet">Scored {} by {}{}. In formulas: <code>{}</code></p>').format(
        str(scale), SCORED_BY[dimension.kind], stand_in, name
    )
    return Markup('<article class="axis-card">{}{}{}{}</article>').format(
        _head(title_of(name, dimension), dimension, "of the score"), _asks(dimension), inner, by
    )


def _parts(parts: Mapping[str, Part], scale: Scale) -> Markup:
    """Parts, each with its own parts inside a fold."""
    drawn = Markup("")
    for name, part in parts.items():
        inner = _asks(part) + _axis(part, scale)
        if part.parts:
            inner += Markup("<details><summary>{}</summary>{}</details>").format(
                count_of(_leaf_count(part), "criterion", "criteria"), _parts(part.parts, scale)
            )
        drawn += Markup('<div class="axis-part">{}{}</div>').format(_head(title_of(name, part), part, "of it"), inner)
    return drawn


def _leaf_count(axis: Axis) -> int:
    return sum(map(_leaf_count, axis.parts.values())) or 1


def _head(title: str, axis: Axis, of: str) -> Markup:
    if axis.points is not None:
        worth = f"{signed(axis.points)} {'point' if abs(axis.points) == 1 else 'points'}"
        return Markup("<header><h3>{}</h3><b>{}</b></header>").format(title, worth)
    if axis.weight is None:
        return Markup("<header><h3>{}</h3></header>").format(title)
    return Markup(
        '<header><h3>{}</h3><span class="weight-bar" aria-hidden="true"><i style="width:{:.1f}%"></i></span>'
        '<b>{}</b><span class="quiet">{}</span></header>'
    ).format(title, 100 * axis.weight, percent(axis.weight), of)


def _asks(axis: Axis) -> Markup:
    return Markup("<p>{}</p>").format(axis.asks) if axis.asks else Markup("")


def _axis(axis: Axis, scale: Scale) -> Markup:
    drawn = anchor_band(axis, scale) if axis.anchors else Markup("")
    if axis.answer_set is not None:
        drawn += Markup('<p class="quiet">Answers: {}</p>').format(axis.answer_set.listed)
    for recipe, lead in ((axis if axis.kinds else None, "Rules"), (axis.offline, "Without a model")):
        if recipe is not None:
            drawn += _recipe(recipe, scale, lead)
    if axis.offline is not None and (kinds := reliability_phrases(axis.offline, scale)):
        lead = f"Bounds without a model ({count_of(len(kinds), 'kind of text', 'kinds of text')})"
        drawn += Markup('<details class="recipe"><summary>{}</summary><p>{}:</p>{}</details>').format(
            lead, TRUST, bullets(kinds)
        )
    return drawn


def anchor_band(axis: Axis, scale: Scale) -> Markup:
    """The scale from its lowest to its highest value, cut where one anchor ends, and what each looks like."""
    found = coverage(rows_of(axis.anchors), scale)
    pieces = Markup("").join(
        Markup('<span class="piece on-{}" style="left:{}%;width:{}%;--rise:{:.0f}%">{}</span>').format(
            piece.kind, piece.left, piece.width, 8 + 0.4 * (piece.left + piece.width / 2), piece.label
        )
        for piece in found.stretches
    )
    lines = Markup("").join(
        Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(
            figure(anchor.low) if anchor.low == anchor.high else f"{figure(anchor.low)}–{figure(anchor.high)}",
            anchor.text,
        )
        for anchor in axis.anchor_list
    )
    return Markup(
        '<div class="anchor-band" role="img" aria-label="Anchors over the scale {}">{}</div>'
        '<dl class="anchor-lines">{}</dl>'
    ).format(str(scale), pieces, lines)


def _recipe(recipe: Recipe, scale: Scale, lead: str) -> Markup:
    opening, lines = recipe_phrases(recipe, scale)
    if not lines:
        return Markup('<p class="recipe">{}: {}</p>').format(lead, words(opening))
    return Markup('<details class="recipe"><summary>{} ({})</summary><p>{}</p>{}</details>').format(
        lead, count_of(len(lines), "line"), words(opening), bullets(lines)
    )


def gates(rubric: Rubric) -> Markup:
    """Every gate as a condition and what it does, in the order they are looked at."""
    ordered = sorted(rubric.gates, key=lambda gate: not gate.before)
    return Markup('<ol class="signs">{}</ol>').format(Markup("").join(_gate(gate, rubric) for gate in ordered))


def _gate(gate: Gate, rubric: Rubric) -> Markup:
    limit = gate.cap if gate.cap is not None else gate.floor
    number = Markup("<code>{}</code>").format(limit) if isinstance(limit, str) else figure(limit)
    if gate.verdict is not None:
        effect = Markup("verdict {}").format(badge(gate.verdict, rubric))
    else:
        way, role = ("at most", "bad") if gate.cap is not None else ("at least", "good")
        effect = Markup('<span class="badge is-{}">score {} {}</span>').format(role, way, number)
        if isinstance(limit, str) and limit in rubric.settings:
            effect += Markup(" ({} is {})").format(limit, setting_value(rubric.settings[limit]))
    before = Markup('<span class="chip">before scoring</span>') if gate.before else ""
    why = Markup('<p class="quiet">{}</p>').format(gate.because) if gate.because else ""
    return Markup(
        '<li><p class="sign-line">If {} <span aria-hidden="true">→</span> {} {}</p><p><b>{}</b></p>{}</li>'
    ).format(words(condition(gate.when, rubric.settings)), effect, before, gate.name, why)


def verdicts(rubric: Rubric) -> Markup:
    """Where on the way from no marks to full marks each verdict lies, and the rules in the order they are tried."""
    rules = Markup("").join(_verdict(rule, rubric, first=at == 0) for at, rule in enumerate(rubric.verdicts))
    return _zones(rubric) + Markup('<ol class="signs">{}</ol>').format(rules)


def _verdict(rule: Verdict, rubric: Rubric, *, first: bool) -> Markup:
    told = Markup("always") if first else Markup("in every other case")
    if rule.when is not None:
        told = Markup("if {}").format(words(condition(rule.when, rubric.settings)))
    why = Markup('<p class="quiet">{}</p>').format(rule.because) if rule.because else ""
    return Markup('<li><p class="sign-line">{} {}</p>{}</li>').format(badge(rule.label, rubric), told, why)


def _zones(rubric: Rubric) -> Markup:
    profile = _profile(rubric)
    found = zones(rubric, None if profile is None else profile[1])
    if not found:
        return Markup("")
    whole = rubric.score.out_of
    pieces = Markup("").join(
        Markup('<span class="piece zone is-{}" style="left:{:.2f}%;width:{:.2f}%" title="{}">{}</span>').format(
            role_of(zone.label, rubric),
            100 * zone.low / whole,
            100 * (zone.high - zone.low) / whole,
            f"{zone.label}: {figure(zone.low)} to {figure(zone.high)}",
            zone.label.replace("_", " "),
        )
        for zone in found
    )
    ticks = Markup("").join(
        Markup('<span style="left:{:.2f}%">{}</span>').format(100 * at / whole, figure(at))
        for at in (0.0, *(zone.low for zone in found[1:]), whole)
    )
    note = f"By the score alone, before any gate{f', under the profile {profile[0]}' if profile else ''}."
    said = ", ".join(f"{zone.label} from {figure(zone.low)}" for zone in found)
    return Markup(
        '<div class="anchor-band" role="img" aria-label="{}">{}</div>'
        '<div class="ticks" aria-hidden="true">{}</div><p class="quiet">{}</p>'
    ).format(said, pieces, ticks, note)


def zones(rubric: Rubric, profile: Profile | None = None) -> tuple[Zone, ...]:
    """The verdicts from no marks to full marks; none where more than the score decides, or nothing does."""
    threshold = profile.threshold if profile is not None and profile.threshold is not None else rubric.threshold
    names: dict[str, object] = {**rubric.settings, **({} if threshold is None else {"threshold": threshold})}
    try:
        rules = [(rule.label, None if rule.when is None else parse(rule.when)) for rule in rubric.verdicts]
        read = {name for _, when in rules if when is not None for name in when.names}
        if not read <= {*names, "score"} or "score" not in read:
            return ()
        return tuple(_stretches(rules, names, rubric.score.out_of))
    except (FormulaError, FormulaFault):
        return ()


def _stretches(rules: Sequence[tuple[str, Formula | None]], names: dict[str, object], out_of: float) -> Iterator[Zone]:
    begun, label = 0.0, ""
    for step in range(STEPS + 1):
        at = round(out_of * step / STEPS, 9)
        here = next(name for name, when in rules if when is None or when.holds({**names, "score": at}))
        if here != label:
            if label:
                yield Zone(label, begun, at)
            begun, label = at, here
    yield Zone(label, begun, out_of)


def _profile(rubric: Rubric) -> tuple[str, Profile] | None:
    """The profile that is drawn where thresholds depend on one: the default, else the first."""
    profiles = rubric.profiles
    if profiles is None or all(profile.threshold is None for profile in profiles.named.values()):
        return None
    name = profiles.default or next(iter(profiles.named))
    return name, profiles.named[name]


def profiles(rubric: Rubric) -> Markup:
    """Weights and thresholds by profile, the weights as shaded cells."""
    found = rubric.profiles
    if found is None:
        return Markup("")
    own = {name: dimension.weight for name, dimension in rubric.dimensions.items() if dimension.weight is not None}
    rows = []
    for name, profile in found.named.items():
        weights = profile.weights or own
        threshold = profile.threshold if profile.threshold is not None else rubric.threshold
        title = Markup("<b>{}</b> <span class='quiet'>{}</span>").format(name, profile.title)
        cells = [
            Markup('<span class="shade" style="--share:{:.0f}%">{}</span>').format(
                100 * weights.get(dimension, 0.0), percent(weights.get(dimension, 0.0))
            )
            for dimension in rubric.dimensions
        ]
        rows.append([title, figure(threshold), *cells])
    head = ("Profile", "Threshold", *(title_of(name, dimension) for name, dimension in rubric.dimensions.items()))
    lead = Markup("<p class='lead'>{}</p>").format(words(profile_phrase(found)))
    return lead + table(head, rows, range(1, len(head)))


def settings(rubric: Rubric) -> Markup:
    """Numbers that formulas read and users may set."""
    rows = ([Markup("<code>{}</code>").format(name), setting_value(value)] for name, value in rubric.settings.items())
    return table(("Setting", "Value"), rows, (1,))


def sections(rubric: Rubric) -> Markup:
    """Named groups of dimensions with a score of their own."""
    rows = []
    for name, section in rubric.sections.items():
        members = ", ".join(title_of(one, rubric.dimensions[one]) for one in section.dimensions)
        how = Markup("<code>{}</code>").format(section.formula) if section.formula else "the mean of them"
        labels = Markup(" ").join(badge(rule.label, rubric) for rule in section.verdicts)
        rows.append([Markup("<b>{}</b>").format(section.title or headline(name)), members, how, labels or "—"])
    return table(("Section", "Dimensions", "Its score", "Verdicts"), rows)


def validity(rubric: Rubric) -> Markup:
    """What each score is worth when no judge is asked; nothing for a rubric that is not bundled."""
    worth = Markup("").join(_worth(rubric, name, card) for name, card in cards_of(rubric).items())
    return Markup('<div class="prose">{}</div>').format(worth) if worth else worth


def _worth(rubric: Rubric, name: str, card: ScoreCard) -> Markup:
    """The card of one score: what it rests on, how it agreed with people, where it fails."""
    rows = [
        [
            found.measure,
            Markup("<b>{:.2f}</b>{}").format(found.value, found.between),
            f"{found.texts:,} {found.data}",
        ]
        for found in figures_of(rubric.name, name)
    ]
    titles = ("Agreement with people", "Value", "Measured on")
    figures = table(titles, rows, stacked=True) if rows else Markup("<p>Not measured.</p>")
    failures = [phrase(f"“{found.response}” {found.says}") for found in card.failures]
    return Markup("<h3>{}</h3><p>Rests on: {}</p>{}{}<p>Not for: {}</p>").format(
        dimension_title(name, rubric),
        words(marked(card.rests_on)),
        figures,
        Markup("<p>Known failures</p>{}").format(bullets(failures)) if failures else "",
        words(marked(card.not_for)),
    )
