"""One evaluation as its card shows it: everything worked out, nothing drawn yet but the charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from rubrica.model.context import Context
from rubrica.model.evaluation import INCONCLUSIVE, DimensionResult, Evaluation, GateResult, RuleHit, every_result
from rubrica.model.evidence import Field, Span
from rubrica.model.rubric import Rubric

from .charts import bar, points_bar, radar, share_bar, waterfall
from .excerpt import LONGEST, Highlight, TextRun, Tone, excerpt
from .figures import STATUS_WORDS, duration, figure, headline, percent, price, signed, within
from .outcome_sentence import OutcomeFacts, OutcomeSentences
from .parts_tree import earned_words, is_tree, parts_tree, shown_steps
from .roles import SIGNS, Role, role_of
from .titles import dimension_titles, section_title

QUOTES_SHOWN = 3
NO_TREE = Markup("")
LONGEST_QUOTE_SHOWN = 60
LONGEST_ADDRESS = 120
_OPERATORS = frozenset("<>=!+-*/%×")
FIELD_TITLES: dict[Field, str] = {"prompt": "Prompt", "response": "Response", "history": "Earlier replies"}


@dataclass(frozen=True, slots=True)
class HitLine:
    """What one rule gave or took."""

    points: str
    tone: Tone
    bar: Markup
    reason: str
    detail: str  # how often, category
    quotes: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """One dimension or part in the table."""

    title: str
    result: DimensionResult
    part: bool
    score: str
    scale: str
    bar: Markup
    state: str
    reason: str
    hits: tuple[HitLine, ...]
    tree: Markup  # its parts, where they are criteria or have parts of their own


@dataclass(frozen=True, slots=True)
class GateLine:
    """A gate and what it did."""

    name: str
    effect: str
    reason: str
    fired: bool


@dataclass(frozen=True, slots=True)
class SectionLine:
    """A section's own score and verdict."""

    title: str
    score: str
    verdict: str
    role: Role
    reason: str


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One judged text, marked."""

    title: str
    pieces: tuple[TextRun, ...]
    key: tuple[tuple[str, Tone], ...]  # what the marks stand for
    length: int
    shortened: bool


@dataclass(frozen=True, slots=True)
class Card:
    """All a card shows."""

    evaluation: Evaluation
    number: int
    title: str
    role: Role
    sign: str
    verdict: str
    reason: str
    score: str
    out_of: str
    chips: tuple[str, ...]
    score_bar: Markup
    dimensions_chart: Markup
    steps_chart: Markup
    rows: tuple[DimensionRow, ...]
    weighted: bool
    gates: tuple[GateLine, ...]
    sections: tuple[SectionLine, ...]
    texts: tuple[TextBlock, ...]
    images: tuple[str, ...]
    footer: tuple[str, ...]


def card_of(evaluation: Evaluation, number: int = 1, rubric: Rubric | None = None) -> Card:
    """The card of an evaluation; the rubric, where it is known, gives titles and tells good verdicts from bad."""
    role = role_of(evaluation.verdict, rubric)
    results = evaluation.dimensions
    known = dimension_titles(rubric)
    titles = {name: known.get(name) or headline(name) for name in results}
    steps = shown_steps(evaluation.steps, results, titles)
    low, high = evaluation.bounds
    return Card(
        evaluation=evaluation,
        number=number,
        title=rubric.display_title if rubric is not None else evaluation.rubric,
        role=role,
        sign=SIGNS[role],
        verdict=evaluation.verdict.replace("_", " "),
        reason=_outcome(evaluation, rubric),
        score=figure(evaluation.score) if evaluation.score is not None else f"{figure(low)} to {figure(high)}",
        out_of=figure(evaluation.out_of),
        chips=tuple(_chips(evaluation)),
        score_bar=bar(evaluation.score, evaluation.bounds, evaluation.threshold, evaluation.out_of),
        dimensions_chart=radar(
            list(titles.values()), [r.share for r in results.values()], [r.status for r in results.values()]
        ),
        steps_chart=waterfall(steps, top=evaluation.out_of, threshold=evaluation.threshold),
        rows=tuple(_rows(results, known)),
        weighted=any(result.weight is not None for result in results.values()),
        gates=tuple(_gate_line(gate) for gate in telling_gates(evaluation)),
        sections=tuple(_sections(evaluation, rubric)),
        texts=tuple(_texts(evaluation, titles)) if evaluation.context is not None else (),
        images=_images(evaluation.context),
        footer=tuple(_footer(evaluation)),
    )


def _outcome(evaluation: Evaluation, rubric: Rubric | None) -> str:
    """Why it came out so, in words that do not repeat the formula; as it was stored where nobody knows the rubric."""
    if rubric is None:
        return _sentence(evaluation.reason)
    values = {name: result.value for name, result in evaluation.dimensions.items()}
    facts = OutcomeFacts(
        evaluation.verdict, evaluation.score, evaluation.out_of, evaluation.reason, evaluation.profile, values
    )
    return OutcomeSentences(rubric).of(facts)


def _sentence(text: str) -> str:
    """A reason as a sentence; one that starts with a formula stays as it is, for a capital would change its names.

    >>> _sentence("no score for accuracy"), _sentence("score >= 7 (score = 8)"), _sentence("min(9, 3)")
    ('No score for accuracy.', 'score >= 7 (score = 8)', 'min(9, 3)')
    """
    text = text.strip()
    first, _, rest = text.partition(" ")
    if not first.strip(",;:").isalpha() or rest[:1] in _OPERATORS:
        return text
    return text[:1].upper() + text[1:] + ("" if text[-1] in ".!?…" else ".")


def _chips(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.profile is not None:
        yield f"profile {evaluation.profile}"
    if evaluation.band:
        yield f"band {evaluation.band}"
    if evaluation.confidence is not None:
        yield f"confidence of the scorers {percent(evaluation.confidence)}"
    if evaluation.score is not None and (ends := within(evaluation.bounds)):
        yield f"an estimate: the score lies within {ends}"
    if evaluation.offline:
        yield "offline stand-in used"
    if evaluation.stopped:
        yield "stopped early: the verdict was decided"


def _rows(results: Mapping[str, DimensionResult], titles: Mapping[str, str]) -> Iterator[DimensionRow]:
    for name, result in results.items():
        tree = parts_tree(result.parts, titles) if is_tree(result) else NO_TREE
        yield _row(titles.get(name) or headline(name), result, part=False, tree=tree)
        if not tree:
            for part, part_result in result.parts.items():
                yield _row(titles.get(part) or headline(part), part_result, part=True)


def _row(title: str, result: DimensionResult, *, part: bool, tree: Markup = NO_TREE) -> DimensionRow:
    return DimensionRow(
        title=title,
        result=result,
        part=part,
        score=" ".join(
            [
                figure(result.value),
                *([f"({ends})"] if (ends := within(result.bounds)) else []),
                *([result.label] if result.label else []),
                *([f"({earned_words(result)})"] if result.points is not None else []),
            ]
        ),
        scale=f"{figure(result.low)}–{figure(result.high)}",
        bar=share_bar(result.share),
        state="" if result.status == "scored" else STATUS_WORDS[result.status],
        reason=_sentence(_reason(result)),
        hits=tuple(_hit_lines(result)),
        tree=tree,
    )


def _reason(result: DimensionResult) -> str:
    """The reason without what the list of rules says anyway."""
    if result.hits or result.reason or result.status != "scored":
        return result.reason
    return f"no rule applied; it stays at the {figure(result.start)} it starts with" if result.start else result.why


def _hit_lines(result: DimensionResult) -> Iterator[HitLine]:
    start = result.start
    largest = max([abs(hit.points) for hit in result.hits] + [abs(start)])
    if start and result.hits:
        words = f"{'point' if start == 1 else 'points'} to start with"
        yield HitLine(figure(start), "note", points_bar(start, largest, "none"), words, "", (), "")
    for hit in result.hits:
        yield _hit_line(hit, largest)


def _hit_line(hit: RuleHit, largest: float) -> HitLine:
    tone = _tone(hit)
    points = ("holds" if hit.points else "fails") if hit.type == "check" else signed(hit.points)
    quotes = tuple(dict.fromkeys(_quote(span) for span in hit.spans))[:QUOTES_SHOWN]
    times = f"{hit.count} times" if hit.count > 1 else ""
    detail = ", ".join(part for part in (times, hit.category) if part)
    return HitLine(
        "—" if hit.error else points,
        tone,
        points_bar(hit.points, largest),
        _hit_text(hit),
        detail,
        quotes,
        hit.error,
    )


def _hit_text(hit: RuleHit) -> str:
    """What a rule found, in the author's words; a check goes by its name, as its reason is a formula where it holds."""
    if hit.type != "check" or not hit.rule:
        return hit.reason or hit.rule
    return hit.rule if hit.points or not hit.reason else f"{hit.rule}: {hit.reason}"


def _tone(hit: RuleHit) -> Tone:
    if hit.points > 0:
        return "plus"
    return "minus" if hit.points < 0 or hit.type == "check" else "note"


def _quote(span: Span) -> str:
    words = " ".join(span.text.split())
    return words if len(words) <= LONGEST_QUOTE_SHOWN else words[: LONGEST_QUOTE_SHOWN - 1] + "…"


def telling_gates(evaluation: Evaluation) -> tuple[GateResult, ...]:
    """The gates that fired, and those that may have where the verdict hangs on it."""
    undecided = evaluation.verdict == INCONCLUSIVE
    return tuple(gate for gate in evaluation.gates if gate.fired or undecided)


def _gate_line(gate: GateResult) -> GateLine:
    match gate.effect:
        case "verdict":
            effect = f"the verdict is {gate.verdict}"
        case "cap":
            effect = f"the score is at most {figure(gate.limit)}" if gate.limit is not None else "caps the score"
        case "floor":
            effect = f"the score is at least {figure(gate.limit)}" if gate.limit is not None else "lifts the score"
    if gate.fired is None:
        effect = f"cannot tell whether it applies; if it does, {effect}"
    return GateLine(gate.name, effect, _sentence(gate.reason or gate.when), gate.fired is True)


def _sections(evaluation: Evaluation, rubric: Rubric | None) -> Iterator[SectionLine]:
    for name, section in evaluation.sections.items():
        verdict = section.verdict or ""
        score = (
            figure(section.score) if section.score is None else f"{figure(section.score)} / {figure(evaluation.out_of)}"
        )
        title = section_title(name, rubric)
        yield SectionLine(title, score, verdict.replace("_", " "), role_of(verdict, rubric), section.reason)


def _texts(evaluation: Evaluation, titles: Mapping[str, str]) -> Iterator[TextBlock]:
    context = evaluation.context
    if context is None:
        return
    marks: dict[Field, list[Highlight]] = {field: [] for field in FIELD_TITLES}
    for field, mark in _marks(evaluation, titles):
        marks[field].append(mark)
    texts: dict[Field, str] = {
        "prompt": context.prompt,
        "response": context.response,
        "history": "\n".join(context.history),
    }
    for field, text in texts.items():
        if text or field == "response":
            key = tuple(dict.fromkeys((mark.title, mark.tone) for mark in marks[field]))
            pieces = tuple(excerpt(text, marks[field]))
            yield TextBlock(FIELD_TITLES[field], pieces, key, len(text), len(text) > LONGEST)


def _marks(evaluation: Evaluation, titles: Mapping[str, str]) -> Iterator[tuple[Field, Highlight]]:
    for name, result in evaluation.dimensions.items():
        for _, part in every_result({name: result}):
            for hit in part.hits:
                points = "" if hit.type == "check" or not hit.points else f" ({signed(hit.points)})"
                title = f"{titles[name]}: {_hit_text(hit)}{points}"
                for span in hit.spans:
                    yield span.field, Highlight(span.start, span.end, _with_label(title, span, hit), _tone(hit))
    for gate in evaluation.gates:
        tone: Tone = "note" if gate.effect == "floor" else "minus"
        for span in gate.spans:
            yield span.field, Highlight(span.start, span.end, f"Gate {gate.name}: {span.label or gate.reason}", tone)


def _with_label(title: str, span: Span, hit: RuleHit) -> str:
    known = span.label in ("", hit.rule) or span.label in title
    return title if known else f"{title}: {headline(span.label)}"


def _images(context: Context | None) -> tuple[str, ...]:
    """Pictures are named, never loaded: the page makes no request."""
    images = context.images if context is not None else ()
    return tuple(f"{image.alt or 'no description'} ({image.url[:LONGEST_ADDRESS]})" for image in images)


def _footer(evaluation: Evaluation) -> Iterator[str]:
    yield f"{evaluation.rubric}@{evaluation.version}"
    if evaluation.hash:
        yield evaluation.hash[:12]
    yield duration(evaluation.duration_ms)
    if cost := price(evaluation.cost):
        yield cost
