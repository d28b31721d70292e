"""`make bench-quality`: how good the checks are on public sets, by what they find and what they flag wrongly."""

from __future__ import annotations

from rich.console import Console

from . import validity
from .cascade import alarms_table, cascade_table
from .conversation import companion_table, conversation_table, cue_table, empathy_table, talk_table
from .judge_forms import forms_table
from .reliability import reliability_table
from .safety import data, gate_table, harmless_table, pii_table, risk_table, texts_table, twins_table
from .savings import recorded_table, simulated_table

NEEDED = ("safety_responses", "moderation_texts", "pii_texts", "pandalm", "routing_gsm8k", "dialogue_usr_topical",
          "ccss_math", "svamp", "mcq_math")  # fmt: skip

WIDTH = 120  # columns that the widest table needs: in a log of 80, names would be cut


def main() -> None:
    console = Console()
    console.width = max(console.width, WIDTH)
    missing = [name for name in NEEDED if not (data() / f"{name}.jsonl.gz").exists()]
    if missing:
        console.print(f"skipped: {', '.join(missing)} not in {data()} (set RUBRICA_DATA to the folder that has them)")
        return
    for table in (
        gate_table,
        twins_table,
        risk_table,
        cascade_table,
        alarms_table,
        texts_table,
        harmless_table,
        pii_table,
        conversation_table,
        empathy_table,
        companion_table,
        talk_table,
        cue_table,
        reliability_table,
    ):
        console.print(table())
    for savings in (simulated_table, recorded_table):
        if (made := savings()) is not None:
            console.print(made)
    console.print(validity.table(list(validity.figures())))
    if (forms := forms_table()) is not None:
        console.print(forms)


if __name__ == "__main__":
    main()
