"""The baseline file: the last evaluations of responses with the commit they were made at, to see a decline in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rubrica.errors import JsonError, RubricaError
from rubrica.file_lock import alone_with
from rubrica.jsontext import decode_json
from rubrica.runs.compare.trend import Trend, TrendPoint, trends
from rubrica.runs.files.atomic import write_atomically

from .results import ResponseEvaluation

BASELINE = "baseline_evaluation.json"
MOST_KEPT = 100
PATIENCE = 30.0
"""Seconds to wait for somebody else who writes the file."""

Entry = Mapping[str, Any]


class BaselineFile:
    """The last evaluations in one file, oldest first. Several processes may add to it."""

    def __init__(self, path: str | Path = BASELINE, most: int = MOST_KEPT) -> None:
        self.path = Path(path)
        self.most = most

    def entries(self) -> list[Entry]:
        """What is kept. A file that is something else is refused, never replaced."""
        try:
            data = decode_json(self.path.read_bytes())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RubricaError(f"{self.path} cannot be read: {error.strerror}") from None
        except JsonError as error:
            raise self._foreign(str(error)) from None
        entries = data.get("evaluations") if isinstance(data, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._foreign("it has no list of evaluations")
        return entries

    def add(self, entry: Entry) -> None:
        """Append one, and let go of the oldest beyond what is kept: whole or not at all."""
        with alone_with(self.path, PATIENCE):
            entries = [*self.entries(), dict(entry)][-self.most :]
            data = msgspec.json.encode({"evaluations": entries})
            with write_atomically(self.path) as unfinished:
                unfinished.write_bytes(msgspec.json.format(data, indent=2) + b"\n")

    def trends(self) -> list[Trend]:
        """How every dimension and `overall` moved, and whether the newest evaluation stands out from those before."""
        return trends(points_of(self.entries()))

    def regressions(self) -> list[Trend]:
        """What fell with the newest evaluation, beyond how the earlier ones varied."""
        return [trend for trend in self.trends() if trend.latest == "regression"]

    def _foreign(self, why: str) -> RubricaError:
        return RubricaError(f"{self.path} is no baseline file: {why} (move it away, or name another)")


def entry_of(evaluation: ResponseEvaluation, commit: str | None) -> dict[str, Any]:
    """An evaluation as the file keeps it. A commit that ends in + had changes that were not committed."""
    return {
        "timestamp": evaluation.timestamp,
        "commit_hash": commit.removesuffix("+") if commit is not None else None,
        "uncommitted_changes": commit is not None and commit.endswith("+"),
        "request_id": evaluation.request_id,
        "overall_score": evaluation.overall_score,
        "aggregate_scores": evaluation.aggregate_scores,
        "total_issues": evaluation.total_issues,
        "total_strengths": evaluation.total_strengths,
        "compliance_report": dict(evaluation.compliance_report),
        "recommendations": list(evaluation.recommendations),
        "question_count": evaluation.question_count,
        "quality_distribution": dict(evaluation.quality_distribution),
        "error_taxonomy": dict(evaluation.error_taxonomy),
    }


def points_of(entries: Sequence[Entry]) -> list[TrendPoint]:
    """The figures of the entries over time.

    >>> kept = [{"timestamp": f"2026-01-{day:02}", "aggregate_scores": {"overall": day / 10}} for day in range(1, 9)]
    >>> [(trend.name, trend.direction) for trend in trends(points_of(kept))]
    [('overall', 'rising')]
    """
    return [
        TrendPoint(str(entry.get("timestamp", "")), _scores(entry), str(entry.get("commit_hash") or "")[:10])
        for entry in entries
    ]


def _scores(entry: Entry) -> dict[str, float | None]:
    scores = entry.get("aggregate_scores")
    known = scores.items() if isinstance(scores, Mapping) else ()
    return {
        str(name): float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        for name, value in known
    }
