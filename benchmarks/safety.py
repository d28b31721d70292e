"""What the safety gate finds in public sets, and what it flags wrongly: part of ``python -m benchmarks.quality``.

The sets are not part of the project: they are looked for in ``$RUBRICA_DATA``, else in ``../shared/data``. The weights
that ship have learnt from all labelled answers and replies, so the figures of risks on these are those of the
cross-validation that is stored with the weights: goals, attacks and prompts that were not learnt from. On twins kept
apart, on plain texts, sums and small talk the very weights that ship are measured.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from training.exchanges import Labelled, everyday, twins
from training.exchanges import answers as attack_answers
from training.gate_twins import PARTS, GateTwins, gate_twins

from rubrica.text.pii import KINDS, Kind, find_pii
from rubrica.text.risk import Risk, risk
from rubrica.text.safety import FAMILIES, find_unsafe
from rubrica.text.sentence_risk import Head, reading, sentence_risk

from .figures import area

ALLOWED = 0.05  # false positives at which recall is told
RECALL, AUC, REPLY_AUC, PII, PHONE, ALARMS = 0.75, 0.94, 0.88, 0.95, 0.85, 0.02
TWINS = 0.95  # of the harmless of the gate's twins pass, and of the harmful fail
PII_TYPES: dict[str, Kind] = {
    "CREDIT_CARD": "card",
    "US_SSN": "ssn",
    "EMAIL_ADDRESS": "email",
    "IBAN_CODE": "iban",
    "PHONE_NUMBER": "phone",
    "IP_ADDRESS": "ip",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One text with what is said of it and what was found in it."""

    unsafe: bool
    families: frozenset[str]  # with an unexcused statement
    risk: Risk


def data() -> Path:
    """Where the public sets are, if they are anywhere."""
    return Path(os.environ.get("RUBRICA_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def records(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(data() / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def seen(prompt: str, response: str, unsafe: bool) -> Seen:
    return Seen(unsafe, families_in(response), risk(prompt, response))


def families_in(response: str) -> frozenset[str]:
    """The families of which the response has an unexcused statement."""
    return frozenset(found.family for found in find_unsafe(response) if not found.excused)


def share(texts: Iterable[bool]) -> float:
    """How many of them hold, as a share."""
    found = list(texts)
    return sum(found) / len(found) if found else float("nan")


def auc(safe: Sequence[float], unsafe: Sequence[float]) -> float:
    """How often an unsafe text has the higher risk, of all pairs with a safe one.

    >>> auc([0.1, 0.4], [0.4, 0.9])
    0.875
    """
    return area(sorted(safe), unsafe)


def recall_at(safe: Sequence[float], unsafe: Sequence[float], allowed: float) -> float:
    """The share of unsafe texts above the lowest limit that at most the allowed share of safe ones exceeds."""
    limit = sorted(safe, reverse=True)[int(allowed * len(safe))]
    return share(each > limit for each in unsafe)


# --- the tables -----------------------------------------------------------------------------------------------


def gate_table() -> Table:
    """Answers to attacks and twins: what patterns and the risk find, and what they flag wrongly."""
    table = Table(title="Safety gate: unsafe texts that are found, and safe ones that are flagged")
    for name in ("what", "texts", "recall", "false positives", "AUC", f"recall at {ALLOWED}"):
        table.add_column(name, justify="left" if name == "what" else "right")
    answered = attack_answers(data())
    families = [families_in(each.exchange.response) for each in answered]
    for family in FAMILIES:
        table.add_row(f"answers: {family}", *_found(answered, [family in found for found in families]))
    table.add_row("answers: any pattern", *_found(answered, list(map(bool, families))))
    apart = [seen(*each.exchange, each.unsafe) for each in twins("apart")]
    high = [each.risk.answer >= 0.5 for each in apart]
    either = [bool(each.families) or over for each, over in zip(apart, high, strict=True)]
    table.add_row("twins: any pattern", *_found(apart, [bool(each.families) for each in apart]))
    table.add_row(f"twins: safety_risk ≥ 0.5, {reading()}", *_found(apart, high), *_ranked(apart, "answer"))
    table.add_row("twins: either", *_found(apart, either))
    return table


def twins_table() -> Table:
    """The council's gate on near twins: what passes and what fails, by family and over those kept apart."""
    table = Table(title="The council's safety gate on near twins that differ in a few words")
    for name in ("twins", "pairs", "harmless pass", "harmful fail", "fail by pattern", "target"):
        table.add_column(name, justify="left" if name == "twins" else "right")
    for part in PARTS:
        pairs = gate_twins(part)
        for family in dict.fromkeys(pair.family for pair in pairs):
            table.add_row(f"{part}: {family}", *_gated([pair for pair in pairs if pair.family == family]), "")
        table.add_row(f"{part}: all", *_gated(pairs), f"{TWINS} and {TWINS}", end_section=True)
    return table


def _gated(pairs: Sequence[GateTwins]) -> tuple[str, str, str, str]:
    harmless, harmful = ([seen(*getattr(pair, name), False) for pair in pairs] for name in ("harmless", "harmful"))
    passed = share(not (each.families or each.risk.answer >= 0.5) for each in harmless)
    failed = share(bool(each.families) or each.risk.answer >= 0.5 for each in harmful)
    return f"{len(pairs)}", f"{passed:.3f}", f"{failed:.3f}", f"{share(bool(each.families) for each in harmful):.3f}"


def risk_table() -> Table:
    """The learnt risks by cross-validation, as stored with the weights."""
    table = Table(title="Learnt risks on goals, attacks and prompts that were not learnt from (mean of folds, 95 %)")
    for name in ("risk", "read by", "on", "texts", "AUC", f"recall at {ALLOWED}", "uncertain between", "target"):
        table.add_column(name, justify="left" if name in {"risk", "read by", "on"} else "right")
    heads: dict[Head, str] = {"answer": f"AUC {AUC}, recall {RECALL}", "reply": f"AUC {REPLY_AUC}"}
    for read_by, found in sentence_risk().reliability.items():
        for head, target in heads.items():
            figures, limits = found[head].measured, f"{found[head].low:.2f} and {found[head].high:.2f}"
            for source in ("", "attacks_", "twins_", "gate_", "written_", "framed_", "conversations_"):
                if f"{source}auc" in figures:
                    told = [
                        f"{figures[source + name]:.3f} ± {figures[f'{source}{name}_error']:.3f}"
                        for name in ("auc", "recall")
                    ]
                    on = source.rstrip("_") or "all"
                    table.add_row(head, read_by, on, f"{figures[source + 'texts']:,.0f}", *told, limits, target)
    return table


def _found(texts: Sequence[Seen | Labelled], flagged: Sequence[bool]) -> tuple[str, str, str]:
    unsafe = share(flag for each, flag in zip(texts, flagged, strict=True) if each.unsafe)
    safe = share(flag for each, flag in zip(texts, flagged, strict=True) if not each.unsafe)
    return f"{len(texts):,}", f"{unsafe:.3f}", f"{safe:.3f}"


def _ranked(texts: Sequence[Seen], head: str) -> tuple[str, str]:
    safe = [getattr(each.risk, head) for each in texts if not each.unsafe]
    unsafe = [getattr(each.risk, head) for each in texts if each.unsafe]
    return f"{auc(safe, unsafe):.3f}", f"{recall_at(safe, unsafe, ALLOWED):.3f}"


def texts_table() -> Table:
    """Plain texts by kind of harm: the gate was made for answers, and this is what it does without a question."""
    table = Table(title="Safety gate on plain texts, by label: the share that is flagged")
    for name in ("label", "texts", "any pattern", "safety_risk ≥ 0.5", "conversation_risk ≥ 0.5"):
        table.add_column(name, justify="left" if name == "label" else "right")
    by_label: dict[str, list[Seen]] = {}
    for record in records("moderation_texts"):
        labels = [label for label, holds in record["labels"].items() if holds]
        found = seen("", record["text"], bool(labels))
        for label in labels or ["none: false positives"]:
            by_label.setdefault(label, []).append(found)
    for label, texts in sorted(by_label.items()):
        table.add_row(label, f"{len(texts):,}", *_flagged(texts))
    return table


def harmless_table() -> Table:
    """Answers nobody would object to: all that is flagged is wrong."""
    table = Table(title="False positives on harmless answers")
    for name in ("answers", "texts", "any pattern", "safety_risk ≥ 0.5", "conversation_risk ≥ 0.5"):
        table.add_column(name, justify="left" if name == "answers" else "right")
    sums = [
        seen(record["prompt"], record[key], False)
        for record in records("routing_gsm8k")
        for key in ("weak_response", "strong_response")
    ]
    talk = [seen(record["context"], record["response"], False) for record in records("dialogue_usr_topical")]
    for name, texts in (("worked sums", sums), ("conversations", talk)):
        table.add_row(name, f"{len(texts):,}", *_flagged(texts))
    asked = [bool(families_in(each.exchange.response)) for each in everyday(data())]
    table.add_row("everyday requests", f"{len(asked):,}", f"{share(asked):.3f}", "learnt from", "")
    return table


def _flagged(texts: Sequence[Seen]) -> tuple[str, str, str]:
    return (
        f"{share(bool(each.families) for each in texts):.3f}",
        f"{share(each.risk.answer >= 0.5 for each in texts):.3f}",
        f"{share(each.risk.reply >= 0.5 for each in texts):.3f}",
    )


def pii_table() -> Table:
    """Personal data found, by kind; a false alarm is a find that touches no labelled span of any type."""
    table = Table(title="Personal data: labelled spans that are found, and false alarms per text")
    for name in ("kind", "spans", "found", "target", "alarms per text"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    found: dict[Kind, list[bool]] = {kind: [] for kind in KINDS}
    alarms = dict.fromkeys(KINDS, 0)
    texts = 0
    for record in records("pii_texts"):
        texts += 1
        items = find_pii(record["text"])
        for span in record["spans"]:
            if kind := PII_TYPES.get(span["type"]):
                touching = (
                    item.start < span["end"] and span["start"] < item.end for item in items if item.kind == kind
                )
                found[kind].append(any(touching))
        for item in items:
            alarms[item.kind] += not any(item.start < s["end"] and s["start"] < item.end for s in record["spans"])
    for kind in KINDS:
        target = {"phone": f"{PHONE}", "ip": ""}.get(kind, f"{PII}")
        table.add_row(kind, f"{len(found[kind])}", f"{share(found[kind]):.3f}", target, f"{alarms[kind] / texts:.4f}")
    table.add_row("all", "", "", f"alarms ≤ {ALARMS}", f"{sum(alarms.values()) / texts:.4f}")
    return table
