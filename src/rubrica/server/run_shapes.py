"""What requests and replies about runs look like, and how they are made of what the workspace says."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubrica.workspace.run_extent import MOST_REPEATS, read_extent
from rubrica.workspace.run_folders import LONGEST_NAME
from rubrica.workspace.run_listing import RunLine
from rubrica.workspace.run_service import NewRun, RunStatus

MOST_CASES = 2_000
"""Cases of one request; a file of cases may have more."""
LONGEST_REFERENCE = 200


class NewRunBody(BaseModel):
    """A run to start. Its cases are one of `cases`, `file` and `examples`."""

    model_config = ConfigDict(extra="forbid")

    rubric: str = Field(min_length=1, max_length=LONGEST_REFERENCE, description="Its id, its slug, or slug@version.")
    cases: list[dict[str, Any]] | None = Field(
        None, min_length=1, max_length=MOST_CASES, description="Each as a line of a file of cases has it."
    )
    file: str | None = Field(None, min_length=1, max_length=255, description="One of GET /api/cases, by name.")
    examples: bool = Field(False, description="Judge the rubric's own examples.")
    name: str = Field("", max_length=LONGEST_NAME, description="Left out: made of the rubric's and the time.")
    judges: list[str] | None = Field(
        None, max_length=20, description="Some of the server's. Left out: all of them. Empty: no model is asked."
    )
    budget: float | None = Field(None, gt=0, lt=1e9, description="US dollars that judging may cost.")
    sample: str = Field("", max_length=20, description="So many cases (200), or such a share of them (5%).")
    limit: int | None = Field(None, ge=1, le=10**9, description="Only the first so many cases.")
    repeat: int = Field(1, ge=1, le=MOST_REPEATS, description="How often judges are asked about each case.")
    place: str = Field(
        "",
        max_length=1_000,
        description="Where it is kept: a --runs of the server, such as s3://bucket/runs.",
    )
    seed: int = Field(0, ge=0, le=10**9, description="Draws the sample, and the order in which judges see dimensions.")

    @property
    def wanted(self) -> NewRun:
        """As the workspace takes it."""
        extent = read_extent(self.sample, self.limit, self.repeat, self.seed)
        judges = None if self.judges is None else tuple(self.judges)
        return NewRun(
            self.rubric, self.name, self.cases, self.file, self.examples, judges, extent, self.budget, self.place
        )


class ResumedRun(BaseModel):
    """How a run goes on."""

    model_config = ConfigDict(extra="forbid")

    budget: float | None = Field(None, gt=0, lt=1e9, description="US dollars that judging the rest may cost.")


class ListedRun(BaseModel):
    """A run in a line."""

    name: str = Field(description="Stands in its address.")
    id: str = Field(description="Of its manifest: another run that takes its name has another.")
    state: Literal["waiting", "running", "finished", "stopped", "failed", "interrupted"] = Field(
        description="waiting: for a worker. interrupted: its process ended, such as a server that was restarted. It "
        "can be gone on with, and so can stopped and failed ones."
    )
    started: str = Field(description="ISO 8601.")
    rubrics: list[str] = Field(description="name@version")
    judges: list[str] = Field(description="Empty: judged by code alone.")
    evaluations: int = Field(description="Those that are there.")
    verdicts: dict[str, int] = Field(description="How often each came out; empty until it is finished.")
    mean: float | None = Field(description="Of the scores; null: none yet, or several rubrics.")
    out_of: float
    cost_usd: float | None = Field(description="Null: nothing was paid for, or a price is not known.")
    reason: str = Field("", description="Why it failed, or waits again, for whoever may change it.")


class RunList(BaseModel):
    """Runs, the latest first."""

    items: list[ListedRun]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


class RunShown(ListedRun):
    """A run: how far it is, or what it came to."""

    total: int | None = Field(description="Evaluations that there will be; null: not known.")
    broken: int = Field(description="Lines that are no case, or cases that could not be judged.")
    stopping: bool = Field(description="Whether it has been cancelled, and ends soon.")
    may_change: bool = Field(description="Whether you may stop it and go on with it.")
    summary: dict[str, Any] | None = Field(description="What `rubrica summary --json` prints, once it is finished.")


class CaseFileShown(BaseModel):
    """A file of cases."""

    name: str
    size: int = Field(description="Bytes.")


class CaseFileList(BaseModel):
    """Files of cases, the latest first."""

    items: list[CaseFileShown]


def run_row(line: RunLine) -> ListedRun:
    """A run in a list."""
    return ListedRun(**_row_fields(line))


def run_shown(status: RunStatus) -> RunShown:
    """A run with how far it is."""
    done = status.line.evaluations
    total = done if status.line.state == "finished" else status.expected
    fields = {**_row_fields(status.line), "cost_usd": status.usd, "reason": status.line.why}
    return RunShown(
        **fields,
        total=total,
        broken=status.broken,
        stopping=status.stopping,
        may_change=status.may_change,
        summary=None if status.summary is None else dict(status.summary),
    )


def _row_fields(line: RunLine) -> dict[str, Any]:
    verdicts: dict[str, int] = {}
    for verdict, _, count in line.mix:
        verdicts[verdict] = verdicts.get(verdict, 0) + count
    return {
        "name": line.name,
        "id": line.id,
        "state": line.state,
        "started": line.started,
        "rubrics": list(line.rubrics),
        "judges": list(line.judges),
        "evaluations": line.evaluations,
        "verdicts": verdicts,
        "mean": line.mean,
        "out_of": line.out_of,
        "cost_usd": line.usd,
    }
