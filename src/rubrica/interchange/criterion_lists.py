"""Weighted criteria in a list: the files of the Python libraries `rubric` and `autorubric`.

Both hold criteria with a `weight`, which may be negative, and a `requirement`, flat or in sections. AutoRubric adds
names, options with values, and guidelines for the whole list. Their score is what `score: {points: true}` gives: earned
weight over the sum of the positive weights, kept between 0 and 1. Where every weight is negative, they count what is
avoided; here such a criterion gives its points where it is not met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale

from .conversion import MET, SCORED, Conversion, Path, Reading, lose_rest, number, text
from .label_names import answer_names, name_of, reserved_names, with_legend, without_legend

Flavour = Literal["rubric", "autorubric"]
MOST_DIMENSIONS = 100
"""Criteria that stand in a rubric side by side; of a longer list, all are parts of one dimension."""
AUTORUBRIC_WEIGHT = 10.0
"""What a criterion of AutoRubric weighs that names no weight."""
DATASET = ("name", "prompt", "reference_submission", "items")
"""What a dataset of AutoRubric has besides its rubric: `autorubric_dataset` makes cases of it."""
_YES, _NO = ("yes", "met", "true", "pass"), ("no", "not_met", "unmet", "false", "fail")
_CANNOT = {"cannot_assess": None}
_KNOWN: dict[Flavour, tuple[str, ...]] = {
    "rubric": ("weight", "requirement"),
    "autorubric": ("weight", "requirement", "name", "options"),
}


def read_criterion_list(data: Any, name: str, flavour: Flavour) -> Conversion:
    """The rubric document of a list of criteria.

    >>> found = read_criterion_list([{"weight": 5, "requirement": "Names the dose."}], "dose", "rubric")
    >>> found.data["dimensions"]
    {'c1': {'asks': 'Names the dose.', 'answers': {'met': 1, 'not_met': 0}, 'points': 5}}
    """
    reading = Reading()
    guidelines, places = read_criteria(data, flavour, reading)
    dimensions = dict(place for place in places if place is not None)
    return reading.done(
        {
            "name": name,
            **({"description": guidelines} if guidelines else {}),
            "dimensions": dimensions if len(dimensions) <= MOST_DIMENSIONS else _as_parts(dimensions),
            "score": {"points": True},
            **({"on_unscored": "skip"} if flavour == "autorubric" else {}),
            "verdicts": SCORED,
        }
    )


NamedCriterion = tuple[str, dict[str, Any]]
"""A criterion as a dimension, with its name."""


def read_criteria(data: Any, flavour: Flavour, reading: Reading) -> tuple[str, list[NamedCriterion | None]]:
    """The guidelines of a list, and what each of its criteria becomes; None for one that weighs nothing."""
    guidelines, criteria = _criteria(data, flavour, reading)
    places: list[NamedCriterion | None] = []
    taken = reserved_names()
    for at, (path, criterion, section) in enumerate(criteria, 1):
        found = _dimension(criterion, path, flavour, reading)
        if found is None:
            places.append(None)
            continue
        called = criterion.get("name") if flavour == "autorubric" else None
        own = isinstance(called, str) and called.strip() != ""
        key = name_of(str(called).strip() if own else f"c{at}", taken, "c_")
        taken.add(key)
        title = {"title": str(called).strip()} if own and key != called else {}
        places.append((key, {**title, **found, **({"tags": [section]} if section else {})}))
    dimensions = dict(place for place in places if place is not None)
    if not dimensions and not reading.faults:
        reading.refuse("there is no criterion with a weight in it")
    if dimensions and all(one["points"] < 0 for one in dimensions.values()):
        _count_avoided(dimensions, reading)
    return guidelines, places


def write_criterion_list(rubric: Rubric, flavour: Flavour) -> Conversion:
    """The list of criteria of a rubric in points, or in weights."""
    reading = Reading()
    kept = ("description", "on_unscored") if flavour == "autorubric" else ()
    lose_rest(rubric, kept, _title(flavour), reading)
    if rubric.score.formula is not None:
        reading.refuse("the score is a formula", ("score", "formula"), f"{_title(flavour)} only adds up weights")
    criteria: list[dict[str, Any]] = []
    for name, share, axis, path in leaves_of(rubric, reading):
        found = _criterion(axis, share, rubric.scale_of(str(path[1])), path, flavour, reading)
        if found is None:
            continue
        if flavour == "autorubric" and not _numbered(name):
            found = {"name": axis.title or name, **found}
        elif axis.title and flavour == "rubric":
            reading.lose(f"has no place in {_title(flavour)}", (*path, "title"))
        criteria.append({**found, "section": axis.tags[0] if axis.tags else ""})
        if len(axis.tags) > 1:
            reading.lose(f"a criterion is in one section, {axis.tags[0]}", (*path, "tags"))
    criteria = _in_sections(_settle_avoided(criteria, flavour, reading))
    if not criteria:
        reading.refuse_rest("no dimension is a criterion that a judge answers with a label", ("dimensions",))
    if flavour == "autorubric" and rubric.description:
        return reading.done({"guidelines": rubric.description, "criteria": criteria})
    return reading.done(criteria)


def _in_sections(criteria: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The list, with neighbours of one section under its name."""
    found: list[dict[str, Any]] = []
    for section, group in groupby(criteria, key=itemgetter("section")):
        plain = [{key: value for key, value in one.items() if key != "section"} for one in group]
        found += [{"name": section, "criteria": plain}] if section else plain
    return found


def _as_parts(criteria: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """One dimension of all criteria. Its share is what they earn over their positive points: the same score."""
    return {name_of("criteria", criteria): {"points": 1, "parts": criteria}}


def leaves_of(rubric: Rubric, reading: Reading) -> Iterator[tuple[str, float, Axis, Path]]:
    """The axes without parts, each with its points or weight: what it is worth in the whole score."""
    (first, only), *others = rubric.dimensions.items()
    if not others and only.parts and all(part.points is not None for part in only.parts.values()):
        for key, part in only.parts.items():
            yield from _leaves(key, part.points or 0.0, part, ("dimensions", first, "parts", key), reading)
        return
    for name, dimension in rubric.dimensions.items():
        share = dimension.points if dimension.points is not None else dimension.weight
        yield from _leaves(name, 1.0 if share is None else share, dimension, ("dimensions", name), reading)


def _leaves(
    name: str, share: float, axis: Any, path: Path, reading: Reading
) -> Iterator[tuple[str, float, Axis, Path]]:
    parts = getattr(axis, "parts", {})
    if not parts:
        yield name, share, axis, path
        return
    worth = {key: part.points if part.points is not None else part.weight or 0.0 for key, part in parts.items()}
    total = sum(one for one in worth.values() if one > 0)
    if share < 0 or total <= 0 or any(one < 0 for one in worth.values()):
        reading.refuse("its parts cannot stand in a flat list: some of them take points away", (*path, "parts"))
        return
    reading.lose("its parts stand in a flat list, each with its share of the weight", (*path, "parts"))
    for key, part in parts.items():
        yield from _leaves(f"{name}_{key}", share * worth[key] / total, part, (*path, "parts", key), reading)


def _criteria(data: Any, flavour: Flavour, reading: Reading) -> tuple[str, list[tuple[Path, dict[str, Any], str]]]:
    """The guidelines, and every criterion with its place and its section."""
    guidelines, path = "", Path()
    if isinstance(data, dict) and isinstance(data.get("rubric"), list | dict):
        reading.lose_keys(data, ("rubric", *DATASET), (), "a rubric of Rubrica")
        data, path = data["rubric"], ("rubric",)
    if isinstance(data, dict):
        inner = next((key for key in ("sections", "criteria") if isinstance(data.get(key), list)), None)
        if inner is None:
            reading.refuse("is not a list of criteria", path, "a list, or an object with `sections` or `criteria`")
            return "", []
        known = (inner, "guidelines") if flavour == "autorubric" else (inner,)
        reading.lose_keys(data, known, path, "a rubric of Rubrica")
        if flavour == "autorubric" and isinstance(data.get("guidelines"), str):
            guidelines = data["guidelines"].strip()
        data, path = data[inner], (*path, inner)
    if not isinstance(data, list):
        reading.refuse("is not a list of criteria", path, "a list, or an object with `sections` or `criteria`")
        return "", []
    found: list[tuple[Path, dict[str, Any], str]] = []
    for at, item in enumerate(data):
        here: Path = (*path, at)
        if not isinstance(item, dict):
            reading.refuse("a criterion is an object with weight and requirement", here)
        elif isinstance(item.get("criteria"), list):
            label = next((item[key] for key in ("name", "title") if isinstance(item.get(key), str)), "").strip()
            reading.lose_keys(item, ("criteria", "name", "title"), here, "a rubric of Rubrica")
            for number_, one in enumerate(item["criteria"]):
                if isinstance(one, dict):
                    found.append(((*here, "criteria", number_), one, label))
                else:
                    reading.refuse("a criterion is an object with weight and requirement", (*here, "criteria", number_))
        else:
            found.append((here, item, ""))
    return guidelines, found


def _dimension(found: dict[str, Any], path: Path, flavour: Flavour, reading: Reading) -> dict[str, Any] | None:
    asks = text(found.get("requirement"), (*path, "requirement"), reading, what="the requirement")
    given = found.get("weight", AUTORUBRIC_WEIGHT if flavour == "autorubric" else None)
    weight = number(given, (*path, "weight"), reading)
    reading.lose_keys(found, _KNOWN[flavour], path, "a rubric of Rubrica")
    answers: dict[str, float | None] = {**MET, **(_CANNOT if flavour == "autorubric" else {})}
    if flavour == "autorubric" and found.get("options") is not None:
        names, answers = _options(found["options"], (*path, "options"), reading)
        asks = None if asks is None else with_legend(asks, names)
    if asks is None or weight is None:
        return None
    if weight == 0:
        reading.lose("weighs nothing, and is left out", (*path, "weight"))
        return None
    return {"asks": asks, "answers": answers, "points": weight}


def _options(found: Any, path: Path, reading: Reading) -> tuple[dict[str, str], dict[str, float | None]]:
    if not isinstance(found, list) or not all(
        isinstance(one, dict) and isinstance(one.get("label"), str) for one in found
    ):
        reading.refuse("options are a list of objects with label and value", path)
        return {}, {}
    names = answer_names([one["label"] for one in found])
    answers: dict[str, float | None] = {}
    for at, (name, one) in enumerate(zip(names, found, strict=True)):
        reading.lose_keys(one, ("label", "value", "na"), (*path, at), "a rubric of Rubrica")
        answers[name] = (
            None if one.get("na") is True else number(one.get("value"), (*path, at, "value"), reading, what="a value")
        )
    return names, answers


def _count_avoided(dimensions: dict[str, dict[str, Any]], reading: Reading) -> None:
    """Every criterion takes points away: what is not met gives them, which comes to the same score."""
    for name, found in dimensions.items():
        found["answers"] = {label: None if value is None else 1 - value for label, value in found["answers"].items()}
        found["points"] = -found["points"]
        reading.lose("every weight is negative: it gives its points where it is not met", ("dimensions", name))


def _settle_avoided(criteria: list[dict[str, Any]], flavour: Flavour, reading: Reading) -> list[dict[str, Any]]:
    """Criteria that give points where they are not met: by a negative weight where all do, by options beside others."""
    avoided = [one.pop("avoided", None) for one in criteria]
    if all(avoided):
        return [{**one, "weight": -one["weight"]} for one in criteria]
    settled: list[dict[str, Any]] = []
    for one, options in zip(criteria, avoided, strict=True):
        if options is None:
            settled.append(one)
        elif flavour == "autorubric":
            settled.append({**one, "options": options})
        else:
            what = f"{one['requirement'][:60]!r} gives points where it is not met, beside others"
            reading.lose(f"{what}: it is left out", ("dimensions",))
    return settled


def _criterion(
    axis: Axis, share: float, scale: Scale, path: Path, flavour: Flavour, reading: Reading
) -> dict[str, Any] | None:
    if axis.answers_for_parts:
        reading.lose("each case brings its criteria: export the cases --to healthbench", path)
        return None
    if axis.kind != "judge" or not axis.answers:
        why = "is a number on a scale" if axis.kind == "judge" else f"is scored by {axis.kind}"
        reading.lose(f"{why}; a criterion is answered with a label, so it is left out", path)
        return None
    if share == 0:
        reading.lose("weighs nothing, and is left out", path)
        return None
    told = axis.model_dump(mode="json", exclude_defaults=True)
    reading.lose_keys(told, ("asks", "answers", "points", "weight", "title", "scale", "tags"), path, _title(flavour))
    question, labels = without_legend(axis.asks or axis.title, tuple(axis.answers))
    weight = int(share) if float(share).is_integer() else share
    values = answer_shares(axis, scale)
    met, others = met_value(values)
    if met is None and flavour == "rubric":
        reading.lose("has other answers than met and not met, and is left out", (*path, "answers"))
        return None
    options = [{"label": labels[key], "value": value or 0.0, "na": value is None} for key, value in values.items()]
    if met is None:
        return {"weight": weight, "requirement": question, "options": options}
    if not axis.answers.keys() <= {*MET, *_CANNOT}:
        reading.lose(f"{', '.join(axis.answers)} become met and not met", (*path, "answers"))
    if others and flavour == "rubric":
        reading.lose(f"{', '.join(others)} cannot be answered there", (*path, "answers"))
    return {"weight": weight, "requirement": axis.asks or axis.title, **({} if met else {"avoided": options})}


def answer_shares(axis: Axis, scale: Scale) -> dict[str, float | None]:
    """The labels of an axis with their share of full marks."""
    return {label: None if value is None else scale.share(value) for label, value in axis.answers.items()}


def met_value(answers: Mapping[str, float | None]) -> tuple[int | None, list[str]]:
    """What yes is worth among yes and no, 1 or 0, and the labels without a value; None where it is another choice.

    >>> met_value({"yes": 1, "no": 0}), met_value({"met": 0, "not_met": 1, "cannot_assess": None})
    ((1, []), (0, ['cannot_assess']))
    >>> met_value({"rude": 0, "polite": 1})
    (None, [])
    """
    values = {label: value for label, value in answers.items() if value is not None}
    others = [label for label in answers if label not in values]
    yes = [value for label, value in values.items() if label.lower() in _YES]
    no = [value for label, value in values.items() if label.lower() in _NO]
    if len(values) == 2 and len(yes) == len(no) == 1 and {*yes, *no} == {0, 1}:
        return int(yes[0]), others
    return None, others


def _numbered(name: str) -> bool:
    return name[:1] == "c" and name[1:].isdigit()


def _title(flavour: Flavour) -> str:
    return "a file of `rubric`" if flavour == "rubric" else "a file of AutoRubric"
