"""What people think of answers: read from a request, and held against the grades for `rubrica calibrate`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args
from uuid import UUID

import msgspec

from rubrica.errors import InputError, JsonError
from rubrica.jsontext import decode_json
from rubrica.model.scale import Scale
from rubrica.store.gateway import Feedback, RatedRequest, Thumb
from rubrica.text.credentials import mask_credentials
from rubrica.text.pii import mask
from rubrica.text.question_type import TYPES

MOST_COMMENT = 4_000
THUMBS: tuple[Thumb, ...] = get_args(Thumb)

THUMB = "only a thumb was given, which is no number on a scale"
WHOLE = "the answer was rated as a whole, and it is not said for which dimension that shall stand"
NOT_TIER_0 = "the answer was tier-1's, and the grade is that of tier-0's"
UNGRADED = "the answer was not graded, or given from the cache"
OTHER_RUBRIC = "the answer was graded by another rubric"
UNJUDGED = "no model scored the dimension"
OFF_SCALE = "what was given is not on the scale of the dimension"


def read_feedback(raw: bytes, known: Sequence[str] = TYPES) -> Feedback:
    """Feedback from the body of a request; an InputError says what a client has to mend.

    It says what the answer is worth, or which of the `known` types the question was, or both.

    >>> read_feedback(b'{"trace": "00000000-0000-7000-8000-000000000001", "rating": "up"}').given
    'up'
    """
    try:
        body = decode_json(raw)
    except JsonError as error:
        raise InputError(f"the body is not JSON that can be read: {error}") from None
    if not isinstance(body, dict):
        raise InputError("the body is a JSON object with `trace` and `rating`")
    if strange := sorted(set(body) - {"trace", "rating", "comment", "scores", "question_type"}):
        raise InputError(f"feedback has trace, rating, comment, scores and question_type, but no {strange[0]!r}")
    comment = body.get("comment") or ""
    if not isinstance(comment, str) or len(comment) > MOST_COMMENT:
        raise InputError(f"`comment` is a text of at most {MOST_COMMENT} characters")
    clean = mask(mask_credentials(comment)).replace("\0", "\ufffd").encode(errors="replace").decode()
    kind = _question_type(body.get("question_type"), known)
    alone = kind is not None and body.get("rating") is None
    if alone and (clean or body.get("scores")):
        raise InputError("`comment` and `scores` come with a `rating`")
    given = None if alone else _read_rating(body.get("rating"))
    return Feedback(_trace(body.get("trace")), given, clean, _scores(body.get("scores")), kind)


def _question_type(value: object, known: Sequence[str]) -> str | None:
    if value is None:
        return None
    for kind in known:
        if value == kind:
            return kind
    raise InputError(f"`question_type` is one of {', '.join(known)}")


def _trace(value: object) -> UUID:
    try:
        return UUID(value) if isinstance(value, str) else UUID("")
    except ValueError:
        raise InputError("`trace` is the x-sleipner-trace of an answer") from None


def _read_rating(value: object) -> int | Thumb:
    for thumb in THUMBS:
        if value == thumb:
            return thumb
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 5:
        return value
    raise InputError("`rating` is a whole number from 1 to 5, or up or down")


def _scores(value: object) -> dict[str, float] | None:
    if value is None:
        return None
    if isinstance(value, dict) and 0 < len(value) <= 50 and all(map(_is_number, value.values())):
        return {str(name): float(number) for name, number in value.items()}
    raise InputError('`scores` are numbers by dimension, such as {"accuracy": 8}')


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class FeedbackLabels(msgspec.Struct, frozen=True):
    """Lines for `rubrica calibrate`, and of what is not among them how much there is, by reason."""

    rows: tuple[dict[str, Any], ...]
    left_out: dict[str, int]


def labels(
    rated: Sequence[RatedRequest], rubric: str, scales: Mapping[str, Scale], *, stands_for: str | None = None
) -> FeedbackLabels:
    """Judges' scores beside people's, a row for each opinion and judge.

    Only answers of tier-0 count: they are what was graded. Scores that people gave by dimension are taken as they
    are; a rating of 1 to 5 is of the whole answer, and is stretched onto the scale of `stands_for`, if that is named.
    `rubric` is the name@version whose dimensions have `scales`.
    """
    if stands_for is not None and stands_for not in scales:
        raise InputError(f"{rubric} has no dimension {stands_for!r}; it has {', '.join(scales)}")
    rows: list[dict[str, Any]] = []
    left_out: Counter[str] = Counter()
    for one in rated:
        human = _human(one, scales, stands_for)
        found = human if isinstance(human, str) else _rows(one, rubric, human)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            rows += found
    return FeedbackLabels(tuple(rows), dict(left_out))


def _human(one: RatedRequest, scales: Mapping[str, Scale], stands_for: str | None) -> dict[str, float] | str:
    """What somebody gave by dimension, or why there is nothing."""
    if one.scores:
        fit = {name: value for name, value in one.scores.items() if name in scales and scales[name].holds(value)}
        return fit or OFF_SCALE
    if one.rating is None:
        return THUMB
    if stands_for is None:
        return WHOLE
    scale = scales[stands_for]
    return {stands_for: scale.min + (one.rating - 1) / 4 * (scale.max - scale.min)}


def _rows(one: RatedRequest, rubric: str, human: Mapping[str, float]) -> list[dict[str, Any]] | str:
    if not one.dimension_scores:
        return UNGRADED
    if one.tier != "tier-0":
        return NOT_TIER_0
    if one.rubric != rubric:
        return OTHER_RUBRIC
    by_judge: dict[str, dict[str, float]] = {}
    for name, given in one.dimension_scores.items():
        if name in human and given.get("judge") and not given.get("stands_in"):
            by_judge.setdefault(given["judge"], {})[name] = given["score"]
    texts = {} if one.prompt is None else {"prompt": one.prompt, "response": one.answer}
    group = {} if one.prompt_digest is None else {"group": one.prompt_digest.hex()}
    return [
        {
            "id": str(one.trace),
            "judge": judge,
            **group,
            "scores": scores,
            "human": {n: human[n] for n in scores},
            **texts,
        }
        for judge, scores in by_judge.items()
    ] or UNJUDGED
