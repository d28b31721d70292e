"""The parts of a dimension as a tree that folds: criteria with their points, and parts within parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from rubrica.model.evaluation import DimensionResult, Step, leaves_of

from .charts import filled
from .figures import STATUS_WORDS, count_of, figure, headline, signed

MOST_SHOWN = 500
"""Parts of one node on a page; the record has all of them."""
MOST_OPEN = 12
"""A tree of more than so many parts is folded at first."""
MOST_STEPS = 24
"""Steps of a score that are drawn one by one."""
LONGEST_LABEL = 60


def is_tree(result: DimensionResult) -> bool:
    """Whether the parts of a dimension are shown as a tree: criteria in points, or parts that have parts."""
    return any(part.parts or part.points is not None for part in result.parts.values())


def part_title(name: str, result: DimensionResult, titles: Mapping[str, str]) -> str:
    """What a part is called: a criterion of a case by its own text."""
    return result.asks or titles.get(name) or headline(name)


def parts_tree(parts: Mapping[str, DimensionResult], titles: Mapping[str, str]) -> Markup:
    """A list of parts, each with its own inside a fold."""
    items = [_item(name, result, titles) for name, result in list(parts.items())[:MOST_SHOWN]]
    if len(parts) > MOST_SHOWN:
        items.append(filled('<li class="quiet">… and {:,} more</li>', len(parts) - MOST_SHOWN))
    whole = filled('<ul class="tree">{}</ul>', Markup("").join(items))
    count = count_of(sum(1 for _ in leaves_of(parts)), "part")
    shown = Markup(" open") if len(parts) <= MOST_OPEN else Markup("")
    return filled('<details class="tree"{}><summary>{}</summary>{}</details>', shown, count, whole)


def earned_words(result: DimensionResult) -> str:
    """What was earned of the points: ``+5 of 5``, ``−8``, ``0 of −8``; nothing where there are none.

    >>> lost = DimensionResult(1.0, 1.0, points=-8, earned=-8)
    >>> earned_words(lost), earned_words(DimensionResult(None, None, points=5))
    ('−8 points', '— of 5 points')
    """
    if result.points is None:
        return ""
    if result.earned is None:
        return f"— of {figure(result.points)} points"
    if result.earned == result.points:
        return f"{signed(result.earned)} points"
    return f"{signed(result.earned)} of {figure(result.points)} points"


def shown_steps(steps: Sequence[Step], results: Mapping[str, DimensionResult], titles: Mapping[str, str]) -> list[Step]:
    """The steps of a score under their titles: of very many, those that moved it most, and the others as one."""
    parts = {name: part for result in results.values() for name, part in result.parts.items()}
    criteria = [step for step in steps if step.kind == "criterion"]
    kept = criteria if len(steps) <= MOST_STEPS else sorted(criteria, key=lambda step: -abs(step.amount))[:MOST_STEPS]
    wanted = {step.label for step in kept}
    found: list[Step] = []
    total = other = 0.0
    for step in steps:
        if step.kind == "criterion" and step.label not in wanted:
            other += step.amount
            continue
        if step.kind not in ("base", "criterion", "dimension") and other:
            total += other
            found.append(Step("criterion", "all other criteria", other, total))
            other = 0.0
        total = step.total if step.kind == "base" else total + step.amount
        found.append(Step(step.kind, _step_title(step, parts, titles), step.amount, total))
    if other:
        found.append(Step("criterion", "all other criteria", other, total + other))
    return found


def _step_title(step: Step, parts: Mapping[str, DimensionResult], titles: Mapping[str, str]) -> str:
    if step.kind == "dimension":
        return titles.get(step.label, headline(step.label))
    if step.kind == "criterion" and step.label in parts:
        title = part_title(step.label, parts[step.label], titles)
        return title if len(title) <= LONGEST_LABEL else title[: LONGEST_LABEL - 1] + "…"
    return f"Gate {step.label}" if step.kind == "gate" else headline(step.label)


def _item(name: str, result: DimensionResult, titles: Mapping[str, str]) -> Markup:
    value = STATUS_WORDS[result.status] if result.value is None else figure(result.value)
    facts = [result.label or value, earned_words(result)]
    facts += [f"weight {figure(result.weight)}"] if result.weight is not None else []
    tags = Markup("").join(filled(' <span class="chip">{}</span>', tag) for tag in result.tags)
    line = filled(
        '<bdi dir="auto">{}</bdi> <b>{}</b>{}',
        part_title(name, result, titles),
        ", ".join(fact for fact in facts if fact),
        tags,
    )
    why = filled(' <span class="quiet" dir="auto">{}</span>', result.reason) if result.reason else Markup("")
    if not result.parts:
        return filled("<li>{}{}</li>", line, why)
    inside = [_item(part, own, titles) for part, own in list(result.parts.items())[:MOST_SHOWN]]
    return filled(
        '<li><details><summary>{}</summary>{}<ul class="tree">{}</ul></details></li>',
        line,
        why,
        Markup("").join(inside),
    )
