"""The shape of a judge's reply: strict JSON schemas built from what is asked, and the same in a form models can read.

Strings and lists are bounded, so that a small model that is held to the schema comes to an end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from rubrica.model.answers import AnswerSet
from rubrica.model.scale import Scale

Shape = dict[str, Any]
"""A JSON Schema of the strict kind: every property required, no others allowed."""

ReplyForm = Scale | AnswerSet
"""What a judge gives an axis: a number on a scale, or one of the answers."""
Reasons = Literal["full", "short"]
REASON, SHORT_REASON, NOTES, REMARK = 600, 150, 800, 300  # characters
MOST_REMARKS = 6
_CONFIDENCE = Scale(min=0, max=1)


def axis_shape(form: ReplyForm, reasons: Reasons = "full") -> Shape:
    """The reply about a single axis. The reason comes first, so that the score follows from it."""
    longest = SHORT_REASON if reasons == "short" else REASON
    given = "answer" if isinstance(form, AnswerSet) else "score"
    return _object({"reason": _text(longest), given: _value(form), "confidence": _number(_CONFIDENCE)})


def axes_shape(forms: Mapping[str, ReplyForm], sections: Iterable[str] = (), reasons: Reasons = "full") -> Shape:
    """The reply about several axes at once, with a note per section and, unless reasons are short, remarks."""
    axes = {name: axis_shape(form, reasons) for name, form in forms.items()}
    fields: dict[str, Shape] = {"dimensions": _object(axes)}
    if reasons == "full":
        remarks = {"type": "array", "items": _text(REMARK), "maxItems": MOST_REMARKS}
        fields |= dict.fromkeys(("issues", "strengths", "suggestions"), remarks)
    notes = {name: _text(NOTES) for name in sections}
    return _object(fields | ({"sections": _object(notes)} if notes else {}))


def batch_shape(forms: Mapping[str, ReplyForm], reasons: Reasons = "full") -> Shape:
    """The reply about a batch of axes, each by itself."""
    return _object({name: axis_shape(form, reasons) for name, form in forms.items()})


def listwise_shape(labels: Iterable[str], forms: Mapping[str, ReplyForm]) -> Shape:
    """The reply about several responses."""
    row = _object(
        {
            "notes": _text(NOTES),
            **{name: _value(form) for name, form in forms.items()},
            "confidence": _number(_CONFIDENCE),
        }
    )
    return _object({"evaluations": _object(dict.fromkeys(labels, row))})


def yes_no_shape() -> Shape:
    """The reply to one question about one axis. No reason: the chances of the first word are what counts."""
    return _object({"answer": {"type": "string", "enum": ["yes", "no"]}})


def choice_shape(labels: Iterable[str]) -> Shape:
    """The reply about which of two responses is better."""
    choice = {"type": "string", "enum": [*labels, "tie"]}
    return _object({"reason": _text(REASON), "choice": choice, "confidence": _number(_CONFIDENCE)})


def grade_shape(grades: Scale) -> Shape:
    """The reply about how far one of two responses is better."""
    return _object({"reason": _text(REASON), "preference": _number(grades), "confidence": _number(_CONFIDENCE)})


def ranks_shape(labels: Sequence[str]) -> Shape:
    """The reply about how several responses stand to each other."""
    ranks = _object(dict.fromkeys(labels, _number(Scale(min=1, max=len(labels)))))
    return _object({"reason": _text(REASON), "ranks": ranks, "confidence": _number(_CONFIDENCE)})


def skeleton(shape: Shape) -> str:
    """A schema as the reply it describes.

    >>> print(skeleton(axis_shape(Scale(min=1, max=10))))
    {"reason": "…", "score": <1 to 10>, "confidence": <0 to 1>}
    """
    match shape["type"]:
        case "object":
            inner = [
                f"{json.dumps(name, ensure_ascii=False)}: {skeleton(part)}"
                for name, part in shape["properties"].items()
            ]
            flat = "{" + ", ".join(inner) + "}"
            if len(flat) <= 110:
                return flat
            return "{\n" + ",\n".join("  " + line.replace("\n", "\n  ") for line in inner) + "\n}"
        case "array":
            return f"[{skeleton(shape['items'])}]"
        case "number":
            return f"<{shape['minimum']:g} to {shape['maximum']:g}>"
        case "boolean":
            return "<true or false>"
        case _:
            return " | ".join(json.dumps(option, ensure_ascii=False) for option in shape.get("enum", "…"))


def _object(properties: Mapping[str, Shape]) -> Shape:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(longest: int) -> Shape:
    return {"type": "string", "maxLength": longest}


def _value(form: ReplyForm) -> Shape:
    return {"type": "string", "enum": list(form.values)} if isinstance(form, AnswerSet) else _number(form)


def _number(scale: Scale) -> Shape:
    return {"type": "number", "minimum": scale.min, "maximum": scale.max}
