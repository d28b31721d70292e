"""How many scores and choices of real judge replies are read back: `python -m benchmarks.judge_replies`.

Each reply is given to Rubrica by a model that says nothing else, through the judges that `rubrica eval` and
`rubrica prefer` ask; what they make of it is held against what its source made of it. A pair of scores counts as a
choice: which of the two is better, or neither.

Reads `judge_replies.jsonl.gz` from the folder that RUBRICA_DATA names, or from `shared/data` beside the project.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from rubrica.judges.judge import ModelJudge
from rubrica.judges.preference import PreferenceJudge
from rubrica.llm.model import Reply, Request, Usage
from rubrica.model.context import Context
from rubrica.model.evaluation import Score
from rubrica.model.rubric import Rubric

from .floor import Ratio

TARGET = 0.995
FILE = "judge_replies.jsonl.gz"
RUBRIC = Rubric.model_validate(
    {
        "name": "replies",
        "scale": {"min": 1, "max": 10},
        "dimensions": {"quality": {"weight": 1}},
        "verdicts": [{"label": "done"}],
    }
)


class _Repeating:
    """A model with one reply to everything."""

    name = "reply"

    def __init__(self, text: str) -> None:
        self.text = text

    async def __call__(self, request: Request) -> Reply:  # noqa: ARG002 - whatever is asked
        return Reply(self.text, self.name, Usage())

    async def close(self) -> None:
        """Nothing is open."""


def folder() -> Path:
    """Where the data are, if they are anywhere."""
    return Path(os.environ.get("RUBRICA_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


async def read_back(record: dict[str, Any]) -> object:
    """What Rubrica makes of a reply: a score, or the place of what is called better; 0 for a tie, None for nothing."""
    model = _Repeating(record["raw"])
    if record["choice"] is None and not isinstance(record["score"], list):
        score = await ModelJudge(model, RUBRIC).overall(Context())
        return score.value if isinstance(score, Score) else None
    labels = ("a", "b") if record["choice"] is not None else ("1", "2")
    asked = PreferenceJudge(model, labels=labels)
    (vote, _), _ = await asked("", {"first": "", "second": ""})
    if vote.ranks is None:
        return None
    return {"first": 1, "second": 2}.get(vote.choice or "", 0)


def stored(record: dict[str, Any]) -> object:
    """The same as its source has it."""
    if record["choice"] is not None:
        return {"a": 1, "b": 2}[record["choice"]]
    if isinstance(record["score"], list):
        first, second = record["score"]
        return 1 if first > second else 2 if second > first else 0
    return record["score"]


async def _counts() -> dict[tuple[str, str], list[int]] | None:
    path = folder() / FILE
    if not path.exists():
        return None
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if (record["score"] is None and record["choice"] is None) or record["ambiguous"]:
                continue
            kind = "choice" if record["choice"] else "pair" if isinstance(record["score"], list) else "score"
            right = await read_back(record) == stored(record)
            for key in ((record["source"], kind), ("all", "")):
                counts[key][0] += 1
                counts[key][1] += right
    return counts


def replies_read() -> list[Ratio]:
    """A row for `make bench`: the share of replies that are read as their source read them."""
    counts = asyncio.run(_counts())
    if counts is None:
        return []
    total, right = counts["all", ""]
    return [
        Ratio("replies of judges read", "as their source read them", right / total, TARGET, f"{right:,} of {total:,}")
    ]


def main() -> None:
    console = Console()
    counts = asyncio.run(_counts())
    if counts is None:
        console.print(f"skipped: {FILE} is not in {folder()} (set RUBRICA_DATA to the folder that has it)")
        return
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
