"""Gates and verdicts as sentences, and sentences as gates and verdicts.

``if accuracy < 5 then at most 40``, ``if refusal > 0 then the verdict is fail``, ``pass if score >= threshold``,
``otherwise fail``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from rubrica.errors import InputError

Effect = Literal["cap", "floor", "verdict"]
EFFECTS: Mapping[Effect, str] = {"cap": "at most", "floor": "at least", "verdict": "the verdict is"}

_GATE = re.compile(
    r"\s*(?P<before>before scoring,?\s+)?if\s+(?P<when>.+?)\s*,?\s+then\s+"
    r"(?:(?:the\s+score\s+is\s+)?(?P<way>at\s+most|at\s+least)|(?:the\s+)?verdict(?:\s+is)?)\s+(?P<what>.+?)"
    r"(?:\s*,?\s+because\s+(?P<because>.+?))?\s*\.?\s*",
    re.IGNORECASE | re.DOTALL,
)
_OTHERWISE = re.compile(r"\s*otherwise\s+(?P<label>.+?)(?:\s*,?\s+because\s+(?P<because>.+?))?\s*\.?\s*", re.I | re.S)
_VERDICT = re.compile(
    r"\s*(?P<label>.+?)\s+if\s+(?P<when>.+?)(?:\s*,?\s+because\s+(?P<because>.+?))?\s*\.?\s*", re.I | re.S
)
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?", re.ASCII)


def effect_of(gate: Mapping[str, Any]) -> Effect:
    """What a gate does; a cap where nothing is said yet.

    >>> effect_of({"when": "x > 1", "verdict": "fail"})
    'verdict'
    """
    return next((effect for effect in EFFECTS if gate.get(effect) is not None), "cap")


def gate_sentence(gate: Mapping[str, Any]) -> str:
    """A gate as one sentence.

    >>> gate_sentence({"name": "g", "when": "accuracy < 5", "cap": 40, "because": "it is wrong"})
    'if accuracy < 5 then at most 40, because it is wrong'
    """
    effect = effect_of(gate)
    before = "before scoring, " if gate.get("before") is True else ""
    because = f", because {gate['because']}" if gate.get("because") else ""
    what = gate.get(effect)
    told = "…" if what in (None, "") else f"{what:g}" if isinstance(what, float) else str(what)
    return f"{before}if {gate.get('when') or '…'} then {EFFECTS[effect]} {told}{because}"


def read_gate(sentence: str, name: str) -> dict[str, Any]:
    """The gate that a sentence says; an InputError shows how to write one.

    >>> read_gate("If accuracy < 5 then at most 40", "ceiling")
    {'name': 'ceiling', 'when': 'accuracy < 5', 'cap': 40}
    """
    found = _GATE.fullmatch(sentence)
    if found is None:
        raise InputError(
            "this is not a gate yet (write: if accuracy < 5 then at most 40; or: then at least 20; or: then the "
            "verdict is fail)"
        )
    gate: dict[str, Any] = {"name": name, "when": found["when"].strip()}
    way = found["way"]
    if way is None:
        gate["verdict"] = found["what"].strip()
    else:
        gate["cap" if "most" in way.lower() else "floor"] = amount_of(found["what"])
    if found["before"]:
        gate["before"] = True
    if found["because"]:
        gate["because"] = found["because"].strip()
    return gate


def verdict_sentence(verdict: Mapping[str, Any], *, last: bool) -> str:
    """A verdict as one sentence.

    >>> verdict_sentence({"label": "pass", "when": "score >= 70"}, last=False)
    'pass if score >= 70'
    >>> verdict_sentence({"label": "fail"}, last=True)
    'otherwise fail'
    """
    label = verdict.get("label") or "…"
    because = f", because {verdict['because']}" if verdict.get("because") else ""
    if verdict.get("when") is None:
        return f"otherwise {label}{because}" if last else f"{label} always{because}"
    return f"{label} if {verdict['when']}{because}"


def read_verdict(sentence: str) -> dict[str, Any]:
    """The verdict that a sentence says; an InputError shows how to write one.

    >>> read_verdict("revise if 50 <= score < 70"), read_verdict("otherwise reject")
    ({'label': 'revise', 'when': '50 <= score < 70'}, {'label': 'reject'})
    """
    found = _OTHERWISE.fullmatch(sentence) or _VERDICT.fullmatch(sentence)
    if found is None:
        raise InputError("this is not a verdict yet (write: pass if score >= 70; or: otherwise fail)")
    verdict = {key: text.strip() for key, text in found.groupdict().items() if text}
    return {key: verdict[key] for key in ("label", "when", "because") if key in verdict}


def amount_of(text: str) -> float | str:
    """A number where the text is one, else the text, which is a formula.

    >>> amount_of(" 40 "), amount_of("4.5"), amount_of("threshold - 1")
    (40, 4.5, 'threshold - 1')
    """
    text = text.strip()
    if _NUMBER.fullmatch(text) is None:
        return text
    number = float(text)
    return int(number) if number.is_integer() else number
