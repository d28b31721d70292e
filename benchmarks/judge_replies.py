"""How many scores and choices of real judge replies are read back: `python -m benchmarks.judge_replies`.

Reads `judge_replies.jsonl.gz` from the folder that RUBRICA_DATA names, or from `shared/data` beside the project.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from rubrica.judges.scoreline import last_choice, last_pair, last_score

TARGET = 0.995
FILE = "judge_replies.jsonl.gz"


def folder() -> Path:
    """Where the data are, if they are anywhere."""
    return Path(os.environ.get("RUBRICA_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def read_back(record: dict[str, Any]) -> object:
    """What our reading makes of a reply, in the form in which the record stores it."""
    if isinstance(record["score"], list):
        pair = last_pair(record["raw"])
        return list(pair) if pair else None
    if record["choice"] is not None:
        return last_choice(record["raw"])
    found = last_score(record["raw"])
    return found.value if found else None


def main() -> None:
    console = Console()
    path = folder() / FILE
    if not path.exists():
        console.print(f"skipped: {path.name} is not in {path.parent} (set RUBRICA_DATA to the folder that has it)")
        return
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for record in records:
        stored = record["score"] if record["score"] is not None else record["choice"]
        if stored is None or record["ambiguous"]:
            continue
        kind = "choice" if record["choice"] else "pair" if isinstance(stored, list) else "score"
        found = read_back(record)
        for key in ((record["source"], kind), ("all", "")):
            counts[key][0] += 1
            counts[key][1] += found == stored
    table = Table(title="Judge replies read back as their source read them")
    for name in ("source", "kind", "replies", "read back", "share"):
        table.add_column(name, justify="left" if name in ("source", "kind") else "right")
    for (source, kind), (total, right) in counts.items():
        table.add_row(source, kind, f"{total:,}", f"{right:,}", f"{right / total:.2%}")
    console.print(table)
    total, right = counts["all", ""]
    console.print(f"target {TARGET:.1%}: {'met' if right / total >= TARGET else 'missed'}")


if __name__ == "__main__":
    main()
