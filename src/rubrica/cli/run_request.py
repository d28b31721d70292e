"""What ``rubrica run`` was told to judge, and by what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from rubrica import __version__
from rubrica.engine.audience import listeners
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.model.rubric import Rubric
from rubrica.runs.files.case_source import STDIN, cases_of, count_cases
from rubrica.runs.files.manifest import Manifest, UsedRubric, commit_of, terms_of
from rubrica.runs.selection import Selection, distinct

SMALL = 1_000_000  # bytes


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What is judged, and how."""

    source: str
    folder: Path
    selection: Selection
    context: dict[str, Any]
    repeat: int
    max_failures: int

    def settled(self) -> Selection:
        """The selection, with a sample's size turned into a share of what is there."""
        if not self.selection.needs_two_passes:
            return self.selection
        with cases_of(self.source) as file:
            return self.selection.settled(distinct(file.cases(), lambda _: None))

    def expected(self) -> int | None:
        """How many evaluations there will be; None where only reading all cases would tell."""
        chosen = self.selection
        count = count_cases(self.source) if not chosen.filters else None
        if count is None:
            return None
        if (sample := chosen.sample) is not None:
            count = min(count, sample.count) if sample.count is not None else round(count * sample.share)
        return self.repeat * min(count, chosen.limit or count)

    def takes_bulk(self, plan: Plan | None, asked: bool | None) -> bool:
        """Whether all cases can be judged in bulk, and should: where it was asked for, or the file is large.

        Whoever listens to evaluations, such as telemetry, hears nothing of a bulk run, so then it has to be asked for.
        """
        source = Path(self.source)
        by_itself = asked is None and plan is not None and plan.judge is None and not listeners
        if not asked and (not by_itself or _is_small(source)):
            return False
        try:
            bulk = import_module("rubrica.runs.bulk.run")
        except ModuleNotFoundError as error:
            if error.name != "polars":
                raise
            if asked:
                raise RubricaError("--bulk: polars is missing (pip install 'rubrica[tables]')") from None
            return False
        everything = self.selection == Selection() and not self.context and self.repeat == 1
        possible = plan is not None and everything and bool(bulk.serves(plan, source))
        if asked and not possible:
            raise RubricaError(
                "--bulk takes a JSONL or Parquet file and --rubric, without --judge, --context, --filter, --sample "
                "and --limit"
            )
        return possible and (bool(asked) or source.stat().st_size >= bulk.LARGE)


def manifest_of(orders: RunRequest, given: Rubric | None, names: list[str], asking: dict[str, Any]) -> Manifest:
    """What a run is made by."""
    temperature = "of repeats" if orders.repeat > 1 else "as the rubric asks"
    terms = terms_of(given, names, orders.context, {**asking, "temperature": temperature})
    chosen = orders.selection
    options = {
        "filter": [condition.text for condition in chosen.filters],
        "limit": chosen.limit,
        "sample": (chosen.sample.count or f"{chosen.sample.share:.4%}") if chosen.sample is not None else None,
        "repeat": orders.repeat,
    }
    return Manifest(
        id=uuid4().hex[:12],
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        rubrics=(UsedRubric.of(given),) if given is not None else (),
        judges=tuple(names),
        terms=terms,
        source=orders.source if orders.source == STDIN else str(Path(orders.source).absolute()),
        options={name: value for name, value in options.items() if value not in (None, [])},
        commit=commit_of(Path.cwd()),
        version=__version__,
    )


def _is_small(source: Path) -> bool:
    """Whether a file is so small that it need not even be asked how it is judged in bulk: that takes half a second."""
    return not source.is_file() or source.stat().st_size < SMALL
