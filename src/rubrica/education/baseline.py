"""The baseline file: the last evaluations of responses with the commit they were made at, to see a decline in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rubrica.errors import JsonError, RubricaError
from rubrica.file_lock import alone_with
from rubrica.jsontext import decode_json
from rubrica.runs.compare.trend import SURE, Trend, TrendPoint, is_headline, trends
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.manifest import Manifest

from .compliance import mean, recommendations
from .results import DIMENSIONS, ResponseEvaluation
from .summary import GradeFigures, run_compliance
from .taxonomy import taxonomy_counts

BASELINE = "baseline_evaluation.json"
MOST_KEPT = 100
RECENT = 10
"""Evaluations over which a decline is looked for: what fell long ago is no news."""
PATIENCE = 30.0
"""Seconds to wait for somebody else who writes the file."""

Entry = Mapping[str, Any]
_FIGURES = ("aggregate_scores", "question_count", "quality_distribution", "error_taxonomy")
"""What tells one state of a run from another."""


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
            self._write([*self.entries(), entry])

    def add_run(self, entry: Entry) -> bool:
        """Append what a run came to, unless it is there already: going on with a finished run adds nothing."""
        with alone_with(self.path, PATIENCE):
            entries = self.entries()
            of_run = [own for own in entries if own.get("request_id") == entry["request_id"]]
            if of_run and all(of_run[-1].get(name) == entry[name] for name in _FIGURES):
                return False
            self._write([*entries, entry])
            return True

    def trends(self) -> list[Trend]:
        """How every dimension and `overall` moved, and whether the newest evaluation stands out from those before."""
        return trends(points_of(self.entries()))

    def regressions(self) -> list[Trend]:
        """What fell with the newest evaluation, beyond how the earlier ones varied."""
        return [trend for trend in self.trends() if trend.latest == "regression"]

    def declines(self) -> list[Trend]:
        """What of the whole has been falling over the last evaluations, step by small step."""
        recent = trends(points_of(self.entries()[-RECENT:]), SURE)
        return [trend for trend in recent if trend.direction == "falling" and is_headline(trend.name)]

    def _write(self, entries: Sequence[Entry]) -> None:
        data = msgspec.json.encode({"evaluations": entries[-self.most :]})
        with write_atomically(self.path) as unfinished:
            unfinished.write_bytes(msgspec.json.format(data, indent=2) + b"\n")

    def _foreign(self, why: str) -> RubricaError:
        return RubricaError(f"{self.path} is no baseline file: {why} (move it away, or name another)")


def entry_of(evaluation: ResponseEvaluation, commit: str | None) -> dict[str, Any]:
    """An evaluation as the file keeps it."""
    return {
        "timestamp": evaluation.timestamp,
        **_commit_data(commit),
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


def run_entry(figures: Sequence[GradeFigures], manifest: Manifest | None, timestamp: str) -> dict[str, Any]:
    """A whole run as the file keeps it: the same figures as of one response, over all its questions."""
    names = dict.fromkeys([*DIMENSIONS, *(name for found in figures for name in found.dimensions)])
    means = {name: mean(value for found in figures for value in found.dimensions.get(name, ())) for name in names}
    overall = mean(value for found in figures for value in found.scores)
    errors = Counter[str]()
    for found in figures:
        errors.update(found.errors)
    questions, report = sum(found.questions for found in figures), run_compliance(figures)
    return {
        "timestamp": timestamp,
        **_commit_data(manifest.commit if manifest is not None else None),
        "request_id": manifest.id if manifest is not None else "",
        "overall_score": overall,
        "aggregate_scores": {**means, "overall": overall},
        "total_issues": errors.total(),
        "total_strengths": sum(found.strengths for found in figures),
        "compliance_report": report,
        "recommendations": list(recommendations(overall, means, report)),
        "question_count": questions,
        "quality_distribution": report["quality_distribution"],
        "error_taxonomy": taxonomy_counts(errors),
    }


def _commit_data(commit: str | None) -> dict[str, Any]:
    """A commit that ends in + had changes that were not committed."""
    plain = commit.removesuffix("+") if commit is not None else None
    return {"commit_hash": plain, "uncommitted_changes": commit is not None and commit.endswith("+")}


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
