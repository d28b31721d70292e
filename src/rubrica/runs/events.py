"""What a run reports while it is executed, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from rubrica.engine.cases import BadLine, Case
from rubrica.model.evaluation import Cost
from rubrica.model.rubric import Rubric

from .bulk.progress import BulkProgress
from .files.folder import RunOpening
from .summary.tally import RunTally

if TYPE_CHECKING:  # judging by code alone needs no models and no price list
    from rubrica.llm.estimate import CostEstimate


class RunOpened(msgspec.Struct, frozen=True):
    """The folder is locked, and what was done before is known."""

    opening: RunOpening
    before: int = 0  # evaluations that are there and stay
    unreadable: int = 0  # stored lines that are no evaluations any more; those cases are judged again


class RunAdvanced(msgspec.Struct, frozen=True):
    """How far a run has come. It is told when judging begins, now and then, and when it ends."""

    done: int  # evaluations, with those of before
    judged: int  # by this process
    seconds: float  # since judging began
    total: int | None = None  # how many there will be
    estimated: bool = False  # whether the total is worked out from how much of the file has been read
    cost: Cost | None = None  # of judging so far; None where nothing was paid for
    nodes: int | None = None  # of the cluster that judges; None: this machine does


class LineBroken(msgspec.Struct, frozen=True):
    """A line that is no case, or a case that cannot be judged; it is passed over."""

    line: BadLine


class IdRepeated(msgspec.Struct, frozen=True):
    """The first case whose id another one has; such cases get a number."""

    case: Case


class RunNote(msgspec.Struct, frozen=True):
    """Something that whoever started the run may want to know."""

    text: str


RunEvent = RunOpened | RunAdvanced | BulkProgress | LineBroken | IdRepeated | RunNote
EventCallback = Callable[[RunEvent], None]


def ignore_event(_event: RunEvent) -> None:
    """For whoever wants the outcome only."""


class RunCounts(msgspec.Struct, frozen=True):
    """What one execution of a run has done."""

    added: int = 0  # evaluations
    seconds: float = 0.0
    cost: Cost | None = None  # None where nothing was paid for
    failed: int = 0  # of those added, how many a model owes a score
    skipped: int = 0  # done before
    changed: int = 0  # judged anew, because the case is another one now
    retried: int = 0  # judged anew, because a model had failed
    broken: int = 0  # lines
    renamed: int = 0  # cases of a bulk run that had the id of another one
    reasons: Sequence[tuple[str, int]] = ()  # why models failed, the most frequent first


RunEnding = Literal["finished", "stopped", "unanswered"]


class RunOutcome(msgspec.Struct, frozen=True):
    """How an execution ended: at the end of the cases, stopped by whoever asked for it, or because no model answered.

    However it ended, what was judged is kept, and executing the same request goes on.
    """

    ending: RunEnding
    counts: RunCounts
    rubrics: Mapping[str, Rubric] = msgspec.field(default_factory=dict)  # those used, by name
    bulk: bool = False
    tally: RunTally | None = None  # the figures of the whole run, where it is finished
    reason: str = ""  # why no model answered


class RunEstimate(msgspec.Struct, frozen=True):
    """What executing a run would ask. Repairs and retries come on top."""

    evaluations: int
    models: tuple[CostEstimate, ...]
    skipped: int = 0  # evaluations that are there already
