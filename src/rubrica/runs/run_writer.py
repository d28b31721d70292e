"""A run under way: knows what is done, keeps every evaluation as it finishes, and stops when no model answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

import msgspec

from rubrica.engine.cases import BadLine
from rubrica.errors import RubricaError, StoredError
from rubrica.model.context import Context
from rubrica.model.evaluation import DimensionResult, Evaluation, leaves_of
from rubrica.report.figures import count_of

from .batch import BadCase, CaseWork
from .case_order import CaseOrder, CaseTurns
from .failure_reasons import FailureReasons
from .files.append_only import AppendOnlyFile, finished_lines
from .files.atomic import write_atomically
from .files.evaluation_head import content_of, head_of, key_of
from .files.folder import ERRORS, EVALUATIONS, drop_derived
from .files.hash_table import HashTable
from .files.rows import RunRow

Item = TypeVar("Item")
_COPIED = (1 << 64) - 1


class ModelsDownError(RubricaError):
    """The models gave no answer to so many cases in a row that asking on is of no use."""


class DoneEvaluations:
    """The evaluations that a run has, and which of the work at hand they leave to be done. Nothing is written."""

    def __init__(self, folder: Path, *, retry_errors: bool = False) -> None:
        self.skipped = 0  # done before
        self.changed = 0  # judged anew, because the case is another one now
        self.retried = 0  # judged anew, because a model had failed
        self.unreadable = 0  # lines that are no evaluations any more
        self.superseded = False  # whether some line is
        self._done = HashTable()  # what was judged, by case and repeat
        self._retry = HashTable()
        self._starts = HashTable()  # where the lines begin
        failed = _model_failed if retry_errors else _never
        for start, line in _placed_lines(folder / EVALUATIONS):
            try:
                head = head_of(line)
                retry = failed(line)
            except StoredError:
                self.unreadable += 1
                continue
            key = head.key
            self.superseded |= self._done.get(key) is not None
            self._done.put(key, head.content)
            self._starts.put(key, start)
            if retry or self._retry.get(key):
                self._retry.put(key, int(retry))

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing at all, readable or not."""
        return not (len(self._done) or self.unreadable)

    @property
    def before(self) -> int:
        """How many evaluations there were, not counting those that are to be made anew."""
        return len(self._done) - len(self._retry)

    @property
    def missing_cases(self) -> int:
        """Of those that were there, how many are of cases that did not come up."""
        return len(self._done) - self.skipped - self.changed - self.retried

    def start_of(self, key: int) -> int | None:
        """Where the evaluation of a case begins in the file; None where there is none."""
        return self._starts.get(key)

    def wanted(self, work: CaseWork) -> bool:
        """Whether an evaluation is still to be made."""
        key = key_of(work.case.id, work.repeat)
        known = self._done.get(key)
        if known is None:
            return True
        if self._retry.get(key):
            self.retried += 1
        elif known == content_of(work.plan.identity[2], encoded(work.context)):
            self.skipped += 1
            return False
        else:
            self.changed += 1
        return True


class RunWriter:
    """The evaluations of a run's folder, as they are added to. Use it in a locked folder, and close it."""

    def __init__(self, folder: Path, *, retry_errors: bool = False, derived: Sequence[str] = ()) -> None:
        self.folder = folder
        self.added = 0  # by this process
        self.failed = 0  # of those, how many a model owes a score
        self.reasons = FailureReasons()  # why it does
        self.turns: CaseTurns[RunRow] = CaseTurns()  # for whoever adds evaluations up in the order of their cases
        self.number: int | None = None  # of the case whose evaluation was kept last, among all that were met
        self._derived = derived  # files made of the evaluations, besides those of every run
        self._lines = AppendOnlyFile(folder / EVALUATIONS)  # which mends what a crash left
        self.done = DoneEvaluations(folder, retry_errors=retry_errors)
        self._order = CaseOrder()
        self._met = 0  # evaluations that there are to be, as they are asked for
        self._unplaced = 0  # that were not asked for
        self._under_way: dict[int, int] = {}  # their numbers, by case and repeat
        (folder / ERRORS).unlink(missing_ok=True)  # every pass meets them again
        self._errors: AppendOnlyFile | None = None

    def wanted(self, work: CaseWork) -> bool:
        """Whether an evaluation is still to be made. Ask of all of them, in the order of the cases."""
        number, self._met = self._met, self._met + 1
        key = key_of(work.case.id, work.repeat)
        wanted = self.done.wanted(work)
        if wanted:
            self._under_way[key] = number
        elif (start := self.done.start_of(key)) is not None:
            self._order.place(number, start)
        return wanted

    def kept(
        self, evaluations: Generator[Evaluation, None, None], most_failures: int = 0
    ) -> Generator[Evaluation, None, None]:
        """Keep each evaluation as it comes, but for those that `stop_when_unanswered` holds back."""
        with closing(evaluations):  # stopped, none is left under way
            for evaluation, outcome in stop_when_unanswered(evaluations, ask_outcome, most_failures):
                if outcome.failed:
                    self.reasons.add(outcome.reason)
                yield self._keep(evaluation, failed=outcome.failed)

    def broken(self, line: BadLine) -> None:
        """Keep what could not be judged, and why."""
        if self._errors is None:
            self._errors = AppendOnlyFile(self.folder / ERRORS)
        case = line.case if isinstance(line, BadCase) else None
        if isinstance(line, BadCase) and (key := key_of(line.case, line.repeat)) in self._under_way:
            self.turns.skip(self._under_way.pop(key))
        place = {"place": line.place} if line.place else {}
        self._errors.write(msgspec.json.encode({"line": line.line, **place, "case": case, "error": line.reason}))

    def close(self) -> None:
        for lines in (self._lines, self._errors):
            if lines is not None:
                lines.close()

    def tidy(self) -> None:
        """Put the lines into the order of their cases, and leave superseded ones out, for good. Only after `close`."""
        done, path = self.done, self.folder / EVALUATIONS
        changed = done.superseded or done.unreadable or done.changed or done.retried
        if not changed and (not self.added or self._order.is_ascending()):
            return
        with write_atomically(path) as place, path.open("rb") as source, place.open("wb") as target:
            last = HashTable()
            for start, line in _placed_lines(path) if changed or done.missing_cases or self._unplaced else ():
                if (key := _key(line)) is not None:
                    last.put(key, start)
            for line in self._order.copy_lines(source, target):
                if len(last) and (key := _key(line)) is not None:
                    last.put(key, _COPIED)
            if len(last):
                self._copy_others(path, last, target)
            elif target.tell() != path.stat().st_size:
                raise RubricaError(f"{path} has other lines than were written to it; `rubrica run` again looks at them")

    def _copy_others(self, path: Path, last: HashTable, target: BinaryIO) -> None:
        """Copy evaluations of cases that are not among these any more; what cannot be read is put aside."""
        torn = path.with_name(path.name + ".torn")
        for start, line in _placed_lines(path):
            key = _key(line)
            if key is None:
                with torn.open("ab") as aside:
                    aside.write(line + b"\n")
            elif last.get(key) == start:
                target.write(line + b"\n")

    def _keep(self, evaluation: Evaluation, *, failed: bool) -> Evaluation:
        if not self.added:
            drop_derived(self.folder, self._derived)
        self.number = self._under_way.pop(key_of(evaluation.case or "", evaluation.repeat), None)
        if self.number is not None:
            self._order.place(self.number, self._lines.size)
        else:
            self._unplaced += 1
        self._lines.write(evaluation.to_json().encode())
        self.added += 1
        self.failed += failed
        return evaluation


def encoded(context: Context) -> bytes:
    """A context as it stands in a stored evaluation."""
    return msgspec.json.encode(context.as_given())


def asked_of(evaluation: Evaluation) -> Iterator[DimensionResult]:
    """What a model was asked about, and had to answer."""
    for result in leaves_of(evaluation.dimensions):
        if result.source == "llm" and result.status in ("scored", "neutral", "unscored"):
            yield result


class AskOutcome(NamedTuple):
    """How asking models about one case went."""

    reached: bool | None  # whether one replied anything at all, useful or not; None: none was asked
    failed: bool  # whether one owes a score
    reason: str = ""  # what was said of the first thing that failed, or else of the first


def ask_outcome(evaluation: Evaluation) -> AskOutcome:
    """How asking went in an evaluation."""
    reached, failed, reason = None, False, ""
    for result in asked_of(evaluation):
        scored = result.status == "scored"
        if reached is None or (not scored and not failed):
            reason = result.reason
        failed |= not scored
        reached = bool(reached) or scored or result.cost is not None
    return AskOutcome(reached, failed, reason)


def stop_when_unanswered(
    items: Iterable[Item], asked: Callable[[Item], AskOutcome], most: int
) -> Iterator[tuple[Item, AskOutcome]]:
    """Each item with how asking about it went. After `most` in a row that no model answered (0: never), stop.

    Those are held back, so that they are not kept and the same command asks them again; and so they are when nothing
    was answered at all.
    """
    held: list[tuple[Item, AskOutcome]] = []
    answered = False
    for item in items:
        outcome = asked(item)
        if outcome.reached is False and most:
            held.append((item, outcome))
            if len(held) >= most:
                raise _dead(held)
            continue
        if outcome.reached:
            answered = True
            yield from held
            held.clear()
        yield item, outcome
    if held and not answered:
        raise _dead(held)
    yield from held


def _model_failed(line: bytes) -> bool:
    return ask_outcome(Evaluation.from_json(line)).failed


def _never(_line: bytes) -> bool:
    return False


def _key(line: bytes) -> int | None:
    """Which case a line is of; None where it cannot be read."""
    try:
        return head_of(line).key
    except StoredError:
        return None


def _placed_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, and where each begins."""
    start = 0
    for line in finished_lines(path):
        yield start, line
        start += len(line) + 1


def _dead(held: Sequence[tuple[object, AskOutcome]]) -> ModelsDownError:
    return ModelsDownError(f"no model answered the last {count_of(len(held), 'case')}: {held[-1][1].reason}")
