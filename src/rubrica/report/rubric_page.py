"""The readable page of a rubric, as Markdown and as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator

from rubrica.model.dimensions import Axis, Dimension, Recipe
from rubrica.model.judge_options import Judging
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.phrases import Code, Phrase, Strong, listed, phrase

from .figures import count_of, figure, percent
from .glossary import glossary_blocks
from .prose import Block, Bullets, Heading, Paragraph, TableBlock, markdown
from .rendering import TEMPLATES, stylesheet
from .titles import section_title, title_of
from .wording import (
    TRUST,
    gate_phrase,
    profile_phrase,
    recipe_phrases,
    reliability_phrases,
    silence_phrases,
    unscored_sentence,
    verdict_phrases,
)

NUMBERS_OF_WEIGHTS = frozenset({1})


def rubric_markdown(rubric: Rubric) -> str:
    """A rubric in words, for people who do not read YAML."""
    return markdown(list(rubric_blocks(rubric)))


def rubric_html(rubric: Rubric) -> str:
    """The same words as a page."""
    page = TEMPLATES.get_template("rubric.html.j2")
    return page.render(title=rubric.display_title, style=stylesheet(), blocks=list(rubric_blocks(rubric)))


def rubric_blocks(rubric: Rubric) -> Iterator[Block]:
    """Everything the page says, in order."""
    yield Heading(1, rubric.display_title)
    if rubric.description:
        yield Paragraph((rubric.description,))
    yield from _score(rubric)
    yield from _dimension_table(rubric)
    yield from _profiles(rubric)
    yield from _gates_and_verdicts(rubric)
    yield from _sections(rubric)
    yield Heading(2, "When something cannot be scored")
    yield Paragraph((unscored_sentence(rubric),))
    yield Heading(2, "The dimensions in full")
    for name, dimension in rubric.dimensions.items():
        yield from _dimension(name, dimension, rubric.scale_of(name))
    yield from _judging(rubric)
    yield from _notes(rubric)
    yield from glossary_blocks(rubric)
    yield from _identity(rubric)


def _score(rubric: Rubric) -> Iterator[Block]:
    out_of = figure(rubric.score.out_of)
    yield Heading(2, "How the score is made")
    many = len(rubric.dimensions) > 1
    if rubric.score.formula is not None:
        yield Paragraph(
            phrase(
                f"The response is scored on {count_of(len(rubric.dimensions), 'dimension')}. The score is ",
                Code(rubric.score.formula), f", on a scale whose full marks are {out_of}.",
            )
        )  # fmt: skip
    elif many:
        by = "the weights of the profile that fits" if rubric.profiles else "its weight"
        yield Paragraph(
            (
                f"The response is scored on {len(rubric.dimensions)} dimensions. Each score is multiplied by {by}, "
                f"and the products are added up. Full marks everywhere make {out_of}. "
                "Where a dimension has nothing to judge, its weight is shared out among the others.",
            )
        )
    else:
        yield Paragraph((f"The response is scored on one dimension; full marks make {out_of}.",))
    if rubric.score.round is not None:
        decimals = count_of(rubric.score.round, "decimal") if rubric.score.round else "a whole number"
        yield Paragraph((f"The score is rounded to {decimals}, and the rounded score is the one that decides.",))
    if rubric.threshold is not None:
        yield Paragraph((f"The threshold is {figure(rubric.threshold)}; a score equal to it reaches it.",))
    if rubric.bands:
        rising = sorted(rubric.bands.items(), key=lambda band: -band[1])
        bands = [phrase(Strong(label), f" from {percent(start)}") for label, start in rising]
        yield Paragraph(phrase("Quality levels, by the share of full marks: ", listed(bands), "."))


def _dimension_table(rubric: Rubric) -> Iterator[Block]:
    yield Heading(2, "What is looked at")
    weighted = any(dimension.weight is not None for dimension in rubric.dimensions.values())
    head = ("Dimension", *(("Weight",) if weighted else ()), "Question", "Scale", "Scored by")
    rows = []
    for name, dimension in rubric.dimensions.items():
        weight: tuple[Phrase, ...] = ((percent(dimension.weight),),) if weighted else ()
        scale = str(rubric.scale_of(name))
        rows.append(
            (
                (Strong(title_of(name, dimension)),),
                *weight,
                (dimension.asks or "—",),
                (scale,),
                (_scored_by(dimension),),
            )
        )
    yield TableBlock(head, tuple(rows), NUMBERS_OF_WEIGHTS if weighted else frozenset())


def _scored_by(axis: Axis) -> str:
    match axis.kind:
        case "judge":
            return "a judge" + (" (rules stand in without a model)" if axis.offline is not None else "")
        case "rules":
            return "rules"
        case "formula":
            return "a formula"
        case "check":
            return "a checklist"
        case "parts":
            return "its parts"


def _profiles(rubric: Rubric) -> Iterator[Block]:
    profiles = rubric.profiles
    if profiles is None:
        return
    yield Heading(2, "Profiles")
    yield Paragraph(profile_phrase(profiles))
    names = list(rubric.dimensions)
    rows = []
    for name, profile in profiles.named.items():
        weights = profile.weights or {n: d.weight for n, d in rubric.dimensions.items() if d.weight is not None}
        threshold = profile.threshold if profile.threshold is not None else rubric.threshold
        title = phrase(Strong(name), f" ({profile.title})" if profile.title else "")
        rows.append((title, (figure(threshold),), *((percent(weights.get(n, 0.0)),) for n in names)))
    titles = (title_of(name, dimension) for name, dimension in rubric.dimensions.items())
    yield TableBlock(("Profile", "Threshold", *titles), tuple(rows), frozenset(range(1, len(names) + 2)))


def _notes(rubric: Rubric) -> Iterator[Block]:
    notes = rubric.notes
    if notes is None:
        return
    yield Heading(2, "Notes for judges")
    yield Paragraph(phrase("Judges are told more, depending on ", Code(notes.by), "."))
    for name, note in notes.named.items():
        also = f" (also {', '.join(note.also)})" if note.also else ""
        yield Paragraph(phrase(Strong(name), f"{also}: {' '.join(note.text.split())}"))


def _gates_and_verdicts(rubric: Rubric) -> Iterator[Block]:
    if rubric.gates:
        yield Heading(2, "Gates")
        yield Paragraph(("A gate holds whatever the other scores say.",))
        yield Bullets(tuple(gate_phrase(gate, rubric.settings) for gate in rubric.gates))
    yield Heading(2, "Verdicts")
    several = len(rubric.verdicts) > 1
    yield Paragraph(("The first that fits is the verdict:" if several else "There is one verdict:",))
    yield Bullets(verdict_phrases(rubric.verdicts, rubric.settings), ordered=several)
    if several:
        yield Paragraph(
            phrase("It is ", Strong("inconclusive"), " where what is missing leaves more than one of them possible.")
        )


def _sections(rubric: Rubric) -> Iterator[Block]:
    if not rubric.sections:
        return
    yield Heading(2, "Sections")
    for name, section in rubric.sections.items():
        members = listed([Code(dimension) for dimension in section.dimensions])
        how: Phrase = (
            phrase("Its score is ", Code(section.formula), ".") if section.formula else ("Its score is their mean.",)
        )
        yield Paragraph(phrase(Strong(section_title(name, rubric)), ": ", members, ". ", how))
        if section.verdicts:
            yield Bullets(verdict_phrases(section.verdicts, rubric.settings), ordered=True)


def _dimension(name: str, dimension: Dimension, scale: Scale) -> Iterator[Block]:
    yield Heading(3, title_of(name, dimension))
    weight = f" Weight: {percent(dimension.weight)}." if dimension.weight is not None else ""
    weight += f" Points: {figure(dimension.points)}." if dimension.points is not None else ""
    asks = f"{dimension.asks} " if dimension.asks else ""
    yield Paragraph(phrase(asks, "In formulas: ", Code(name), f". Scale: {scale}.", weight))
    if dimension.applies is not None:
        yield Paragraph(phrase("It is scored only if ", Code(dimension.applies), "; otherwise it does not apply."))
    if dimension.filled_from is not None:
        yield Paragraph(("Each case brings its own criteria, with their points: they are the parts of it.",))
    yield from _axis(dimension, scale)
    for names, spec in dimension.every(name):
        if len(names) > 1:
            within = f" of {names[-2]}" if len(names) > 2 else ""
            share = f", {percent(spec.weight)} of it" if spec.weight is not None else counted(spec)
            title = Strong(title_of(names[-1], spec))
            yield Paragraph(phrase(f"Part{within} ", title, " (", Code(names[-1]), f"{share}). ", spec.asks))
            yield from _axis(spec, scale)


def counted(axis: Axis) -> str:
    """What a part counts, where it counts by points."""
    return f", {figure(axis.points)} points" if axis.points is not None else ""


def _axis(axis: Axis, scale: Scale) -> Iterator[Block]:
    if axis.anchors:
        rows = (((_range(anchor.low, anchor.high),), (anchor.text,)) for anchor in axis.anchor_list)
        yield TableBlock(("Score", "What it looks like"), tuple(rows))
    if axis.answers:
        rows = (((label,), ("not scored" if value is None else f"{value:g}",)) for label, value in axis.answers.items())
        yield TableBlock(("The judge answers", "Score"), tuple(rows))
    if axis.reference:
        yield Paragraph((f"The judge is shown what a good response says on this: {axis.reference}",))
    if axis.examples:
        yield Paragraph((f"The judge is shown {count_of(len(axis.examples), 'example')} at most.",))
    if axis.kinds:
        yield from _recipe(axis, scale, "")
    if axis.offline is not None:
        yield from _recipe(
            axis.offline, scale, "Without a model, rules stand in for the judge, and the result says so. "
        )
        if axis.offline.unscored:
            yield Bullets(silence_phrases(axis.offline))
        if axis.offline.reliability:
            yield Paragraph((f"{TRUST}. Of other texts nothing is known: anything on {scale}.",))
            yield Bullets(reliability_phrases(axis.offline, scale))


def _range(low: float, high: float) -> str:
    return figure(low) if low == high else f"{figure(low)}–{figure(high)}"


def _recipe(recipe: Recipe, scale: Scale, lead: str) -> Iterator[Block]:
    opening, lines = recipe_phrases(recipe, scale)
    trust = f"Confidence in such a score: {percent(recipe.confidence)}. " if recipe.confidence != 1 else ""
    yield Paragraph(phrase(lead, trust, opening))
    if lines:
        yield Bullets(lines)


def _judging(rubric: Rubric) -> Iterator[Block]:
    axes = [axis for name, d in rubric.dimensions.items() for _, axis in d.every(name)]
    if any(axis.kind == "judge" or axis.answers_for_parts for axis in axes):
        yield Heading(2, "How judges are asked")
        yield Paragraph((_judging_sentence(rubric.judging),))
    if rubric.normalization.method != "none":
        words = {
            "percentage_of_max": "each as a share of the most points possible",
            "min_max": "from the lowest of them (0) to the highest (1)",
            "log": "from the lowest of them (0) to the highest (1), on logarithms where one exceeds 1",
            "z_score": "by their distance from the mean, in standard deviations",
        }
        log = rubric.normalization.apply_log and rubric.normalization.method != "log"
        first = ", after taking logarithms where one exceeds 1" if log else ""
        told = words[rubric.normalization.method]
        yield Paragraph((f"On a game's leaderboard the players' mean scores are compared {told}{first}.",))


def _judging_sentence(judging: Judging) -> str:
    asked = {
        "each": "A judge is asked about one dimension at a time",
        "together": "A judge is asked about all dimensions at once",
        "yes_no": "A judge answers one question about each dimension with yes or no",
        "listwise": "A judge sees competing responses side by side, and a response alone in one question",
    }[judging.mode]
    if judging.batch > 1:
        asked = f"A judge is asked about up to {judging.batch} dimensions in a call, each to be judged by itself"
    panel = (
        f"; {judging.panel} judges answer, and what they give is pooled ({judging.pool})" if judging.panel > 1 else ""
    )
    again = f"; each is asked {judging.repeats} times" if judging.repeats > 1 else ""
    stop = " Scoring stops as soon as no missing score could change the verdict." if judging.stop == "decided" else ""
    bounds = (
        " Without one, offline scores count as the bounds they are known within, so that the verdict stands only where "
        "no score within them could change it."
    )
    return f"{asked}{panel}{again}.{stop}{bounds if judging.offline == 'bounds' else ''}"


def _identity(rubric: Rubric) -> Iterator[Block]:
    yield Heading(2, "Version")
    about = [f"category {rubric.category}"] if rubric.category else []
    about += [f"tags {', '.join(rubric.tags)}"] if rubric.tags else []
    rest = f"; {'; '.join(about)}" if about else ""
    yield Paragraph(phrase(Code(rubric.reference), ", content hash ", Code(rubric.hash[:12]), f"{rest}."))
