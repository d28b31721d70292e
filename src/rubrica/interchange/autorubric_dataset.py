"""Datasets of AutoRubric: submissions to one prompt, or to one each, with the verdicts that people gave.

The rubric of the dataset becomes a rubric. Where every item brings its own instead, they become the criteria of the
cases, and the rubric takes them from there. Verdicts stay beside the case under `labels`; where they come to a score,
it is what the case expects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubrica.engine.load import plan_from_data
from rubrica.engine.plan import Plan
from rubrica.engine.rejudge import decide
from rubrica.errors import Problem
from rubrica.model.context import Context

from .conversion import MET, SCORED, Conversion, Path, Reading, shown
from .criterion_lists import NamedCriterion, read_criteria, read_criterion_list
from .label_names import without_legend

NO_ITEMS = "there are no items in it: a dataset of AutoRubric has a prompt, a rubric and items"
_ANSWERS: dict[str, float | None] = {**MET, "cannot_assess": None}
ITEMS: Path = ("items",)
"""Where the items of a dataset are."""
_VERDICTS = {"MET": "met", "UNMET": "not_met", "CANNOT_ASSESS": "cannot_assess"}
_ITEM = ("submission", "description", "ground_truth", "rubric", "reference_submission", "prompt")


def is_dataset(data: Any) -> bool:
    """Whether this is a dataset, and not a rubric alone."""
    return isinstance(data, dict) and isinstance(data.get("items"), list)


def read_dataset_rubric(data: Mapping[str, Any], name: str) -> Conversion:
    """The rubric of a dataset: its own, or one that takes the criteria of each case."""
    left = Problem(f"{len(data['items']):,} items are no part of a rubric", ITEMS, fix="--cases FILE.jsonl makes cases")
    if data.get("rubric") is not None:
        found = read_criterion_list(dict(data), name, "autorubric")
        return Conversion(found.data, (*found.lost, left))
    return Conversion(
        {
            "name": name,
            "dimensions": {"answer": {"from": "criteria", "answers": _ANSWERS}},
            "score": {"points": True},
            "on_unscored": "skip",
            "verdicts": SCORED,
        },
        (left,),
    )


def read_items(data: Mapping[str, Any], name: str) -> Conversion:
    """The cases of a dataset, one for each item."""
    reading = Reading()
    plan = plan_from_data(read_dataset_rubric(data, name).data)
    shared = data.get("rubric")
    places = [] if shared is None else read_criteria(shared, "autorubric", Reading())[1]
    cases = []
    for at, item in enumerate(data["items"]):
        path: Path = (*ITEMS, at)
        if not isinstance(item, dict) or not isinstance(item.get("submission"), str):
            reading.refuse("an item is an object with a submission", path)
            continue
        reading.lose_keys(item, _ITEM, path, "a case")
        for key in ("prompt", "reference_submission"):
            if not isinstance(item.get(key) or data.get(key) or "", str):
                reading.refuse(
                    f"the {key.partition('_')[0]} is a text, not {shown(item.get(key) or data.get(key))}", path
                )
        own: list[NamedCriterion | None] = []
        if item.get("rubric") is not None and shared is not None:
            reading.lose("has a rubric of its own beside the dataset's, and is left out", (*path, "rubric"))
            continue
        if shared is None:
            if item.get("rubric") is None:
                reading.refuse("has no rubric, and neither has the dataset", path)
                continue
            own = _own_criteria(item["rubric"], (*path, "rubric"), reading)
        case = _case(item, data, str(at + 1), name, own)
        labels = _labels(item, places or own, (*path, "ground_truth"), reading)
        if labels:
            case["metadata"] = {**case.get("metadata", {}), "labels": labels}
            case |= _expected(plan, case, labels, places or own)
        cases.append(case)
    if not cases and not reading.faults:
        reading.refuse(NO_ITEMS, ITEMS)
    return reading.done(cases)


def _own_criteria(found: Any, path: Path, reading: Reading) -> list[NamedCriterion | None]:
    """The criteria of one item; what is lost or wrong in them is told with the item's place."""
    inner = Reading()
    guidelines, places = read_criteria(found, "autorubric", inner)
    for fault in inner.faults:
        reading.refuse(fault.message, (*path, *fault.path), fault.fix)
    for loss in inner.losses:
        reading.lose(loss.message, (*path, *loss.path), loss.fix)
    if guidelines:
        reading.lose("has no place in a case", (*path, "guidelines"))
    return places


def _case(
    item: Mapping[str, Any], data: Mapping[str, Any], name: str, rubric: str, own: Sequence[NamedCriterion | None]
) -> dict[str, Any]:
    given = {
        "prompt": item.get("prompt") or data.get("prompt"),
        "response": item["submission"],
        "reference": item.get("reference_submission") or data.get("reference_submission"),
        "criteria": [
            {"criterion": one["asks"], "points": one["points"], "id": key}
            | ({} if one["answers"] == _ANSWERS else {"answers": one["answers"]})
            for key, one in filter(None, own)
        ],
        "metadata": {"description": item["description"]} if item.get("description") else None,
    }
    rest = {key: value for key, value in given.items() if value or key == "response"}
    return {"id": name, "rubric": rubric, **rest}


def _labels(
    item: Mapping[str, Any], places: Sequence[NamedCriterion | None], path: Path, reading: Reading
) -> dict[str, str]:
    """What people answered, by criterion, in the words of the rubric."""
    truth = item.get("ground_truth")
    if truth is None:
        return {}
    if not isinstance(truth, list) or len(truth) != len(places):
        reading.refuse(f"has verdicts for {len(places)} criteria, not {shown(truth)}", path)
        return {}
    labels: dict[str, str] = {}
    for at, (said, place) in enumerate(zip(truth, places, strict=True)):
        if place is None:
            continue
        key, criterion = place
        known = {text: name for name, text in without_legend(criterion["asks"], tuple(criterion["answers"]))[1].items()}
        label = known.get(str(said).strip(), _VERDICTS.get(str(said).upper(), ""))
        if label not in criterion["answers"]:
            reading.refuse(
                f"{shown(said)} is no answer of {key}, which has {', '.join(criterion['answers'])}", (*path, at)
            )
            continue
        labels[key] = label
    return labels


def _expected(
    plan: Plan, case: Mapping[str, Any], labels: Mapping[str, str], places: Sequence[NamedCriterion | None]
) -> dict[str, Any]:
    """The score that the labels come to under the rubric; nothing where one of them has no value."""
    values = {key: one["answers"][labels[key]] for key, one in filter(None, places) if key in labels}
    if len(values) < len(places) - places.count(None) or None in values.values():
        return {}
    first = next(iter(plan.rubric.dimensions))
    scores = values if values.keys() <= plan.rubric.dimensions.keys() else {first: values}
    score = decide(plan, scores, Context.of({"criteria": case.get("criteria", [])})).score
    return {} if score is None else {"expect": {"score": round(score, 6)}}
