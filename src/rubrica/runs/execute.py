"""Executes a run: cases are judged into a folder, so that nothing is lost and the same request goes on.

`rubrica run`, the studio and the workflows call it. It prints nothing: whoever calls it hears events, and shows them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import msgspec

from rubrica.engine.audience import listeners
from rubrica.engine.cases import BadLine, Case
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of

from .batch import Batch, Evaluator
from .bulk_choice import bulk_options, takes_bulk
from .core_evaluator import CoreEvaluator
from .cores import cores
from .events import (
    IdRepeated,
    LineBroken,
    RunCounts,
    RunEstimate,
    RunEvent,
    RunNote,
    RunOpened,
    RunOutcome,
    Tell,
    unheard,
)
from .files.case_source import CaseSource, cases_of
from .files.folder import RunOpening, open_run_folder
from .files.manifest import Manifest, UsedRubric, mark_ended, read_manifest
from .files.source_files import placed
from .judging import open_cluster, open_jury
from .loop import draw_results, loop_outcome
from .mirror.copy import find_copy
from .mirror.mirror import mirrored
from .preparation import FinishPreparation
from .progress import ProgressMeter
from .request import EVERY_CASE, CaseChoice, RunRequest
from .rubrics import RunRubrics
from .run_writer import DoneEvaluations, RunWriter
from .summary.tally import RunTally

if TYPE_CHECKING:
    from .cluster.session import ClusterSession
    from .jury_session import JurySession


def utc_now() -> datetime:
    return datetime.now(UTC)


def execute_run(
    request: RunRequest, tell: Tell = unheard, stop: Event | None = None, clock: Callable[[], datetime] = utc_now
) -> RunOutcome:
    """Judge what is still to be judged, and make of the folder what a finished run has.

    Setting `stop` ends it after the evaluation that is finished next, as Ctrl-C does at once; a bulk run takes Ctrl-C
    only. A RubricaError says why a run cannot be executed at all.
    """
    request = replace(request, cases=request.cases.found())
    cases = request.cases
    with ExitStack() as stack:
        tell = _kept_in_store(request, tell, stack)
        jury = _opened_jury(request, tell, stack)
        rubrics = RunRubrics(request.rubric, cases.judged_by(jury.judge_of) if jury is not None else None)
        manifest = request.manifest(clock())
        if takes_bulk(request, rubrics.plan(None) if request.rubric is not None else None):
            manifest = msgspec.structs.replace(manifest, kind="bulk")
        if cases.material is None:
            _look_at(cases, tell)
        opening = stack.enter_context(open_run_folder(request.folder, manifest, resume=request.resume))
        preparation = FinishPreparation(request.folder, rubrics.rubrics, request.judging.names)
        execution = _Execution(request, rubrics, opening, tell, stop, stack.enter_context(preparation))
        if opening.manifest.kind == "bulk":
            outcome = execution.in_bulk()
        else:
            outcome = execution.one_by_one(jury)
        if outcome.ending != "finished":
            mark_ended(request.folder, "stopped" if outcome.ending == "stopped" else "failed", outcome.reason)
            return outcome
        now = clock()
        made = cases.material.conclude(request.folder, now) if cases.material is not None else ()
        from .finish import finish  # here, since templates and charts need not be there before

        tally, notes = finish(request.folder, now, preparation.derived)
        for text in (*made, *notes):
            tell(RunNote(text))
        return replace(outcome, tally=tally)


def estimate_run(request: RunRequest, tell: Tell = unheard) -> RunEstimate:
    """What executing a run would ask of its judges: everything is prepared, nobody is asked, nothing is written."""
    cases, tally = request.cases.found(), RunTally()
    with open_jury(replace(request.judging, dry=True), _noted(tell), warm=cases.repeat > 1) as jury:
        rubrics, done = RunRubrics(request.rubric, cases.judged_by(jury.judge_of)), _done_before(request)
        wanted = done.wanted if done is not None else None
        selection = cases.settled()
        with cases.opened() as file:
            batch = Batch(rubrics, tally, _broken(tell, file), cases.context, jury.evaluator, cases.repeat, wanted)
            for _ in batch.evaluations(selection.of(cases.distinct(file, _repeated(tell)))):
                pass
        return RunEstimate(tally.judged, tuple(jury.estimates), done.skipped if done is not None else 0)


@dataclass(frozen=True, slots=True)
class _Execution:
    """A run in its locked folder."""

    request: RunRequest
    rubrics: RunRubrics
    opening: RunOpening
    tell: Tell
    stop: Event | None
    preparation: FinishPreparation

    def one_by_one(self, jury: JurySession | ClusterSession | None) -> RunOutcome:
        """Judge case after case, and keep each evaluation as it is finished."""
        request, tally, material = self.request, RunTally(), self.request.cases.material
        derived = material.derived if material is not None else ()
        kept = RunWriter(request.folder, retry_errors=request.retry_errors, derived=derived)

        def loop() -> bool:
            try:
                self.tell(RunOpened(self.opening, kept.done.before, kept.done.unreadable))
                if material is not None and not material.prepare(request.folder, self.tell, self.stop):
                    return False
                return self._judge_all(kept, tally, jury)
            finally:
                kept.close()
                _remember(request.folder, self.opening.manifest, self.rubrics)

        ending, reason = loop_outcome(loop)
        counts = RunCounts(
            kept.added,
            tally.seconds,
            tally.cost,
            kept.failed,
            kept.done.skipped,
            kept.done.changed,
            kept.done.retried,
            tally.broken,
            reasons=kept.reasons.counted(),
        )
        if ending == "finished":
            kept.tidy()
            if (gone := kept.done.unmet) and request.cases.selection == EVERY_CASE:
                said = f"{count_of(gone, 'evaluation')} of cases that were judged before and are not among these"
                self.tell(RunNote(f"the run keeps {said} (begin anew to leave them out)"))
        return RunOutcome(ending, counts, self.rubrics.rubrics, reason=reason)

    def _judge_all(self, kept: RunWriter, tally: RunTally, jury: JurySession | ClusterSession | None) -> bool:
        """Draw every evaluation through to the disk; False where that was stopped."""
        cases = self.request.cases
        evaluator = jury.evaluator if jury is not None else self._by_code()
        selection, expected = cases.settled(), cases.expected()
        with cases.opened() as file:

            def broken(line: BadLine) -> None:
                line = placed(file, line)
                self.tell(LineBroken(line))
                kept.broken(line)

            batch = Batch(self.rubrics, tally, broken, cases.context, evaluator, cases.repeat, kept.wanted)
            evaluations = batch.evaluations(selection.of(cases.distinct(file, _repeated(self.tell))))
            results = kept.kept(evaluations, self.request.max_failures)
            if jury is not None:
                results = self.preparation.gathered(results, kept)
            meter = ProgressMeter(file, kept, tally, expected, jury)
            return draw_results(results, meter.read, self.tell, self.stop)

    def _by_code(self) -> Evaluator | None:
        """Every core evaluates, unless somebody listens to what is evaluated in this process."""
        return None if listeners else CoreEvaluator(self.request.processes or cores())

    def in_bulk(self) -> RunOutcome:
        """Judge all cases into columns of figures."""
        from .bulk.run import bulk_rows  # here, since polars takes half a second to load, and need not be installed

        self.tell(RunOpened(self.opening))
        request, rubrics = self.request, self.rubrics.rubrics
        started = time.monotonic()
        how = bulk_options(request)
        try:
            done = bulk_rows(self.rubrics.plan(None), request.cases.files, request.folder, how, self.tell)
        except KeyboardInterrupt:
            return RunOutcome("stopped", RunCounts(seconds=time.monotonic() - started), rubrics, bulk=True)
        counts = RunCounts(done.rows, time.monotonic() - started, broken=done.errors, renamed=done.renamed)
        return RunOutcome("finished", counts, rubrics, bulk=True)


def _kept_in_store(request: RunRequest, tell: Tell, stack: ExitStack) -> Tell:
    """Whoever is told, and before that the store, where the run is kept in one: it may have to stop for it."""
    if request.store is None:
        return tell
    check = stack.enter_context(mirrored(request.store.address, _noted(tell), request.store.pace))

    def told(event: RunEvent) -> None:
        check()
        tell(event)

    return told


def _opened_jury(request: RunRequest, tell: Tell, stack: ExitStack) -> JurySession | ClusterSession | None:
    """The models that judge, asked from here or from a cluster; None where none is named."""
    judging, warm = request.judging, request.cases.repeat > 1
    if not judging.names:
        return None
    if request.cluster is None:
        return stack.enter_context(open_jury(judging, _noted(tell), warm=warm))
    material = request.cases.material
    if material is not None and not material.distributable:
        raise RubricaError("this is judged on one machine (leave --cluster out)")
    return stack.enter_context(open_cluster(request.cluster, judging, _noted(tell), warm=warm))


def _done_before(request: RunRequest) -> DoneEvaluations | None:
    """What need not be asked again, where the folder holds a run that would be gone on with."""
    if request.store is not None:
        find_copy(request.store.address)
    earlier = read_manifest(request.folder) if request.resume else None
    if earlier is None or earlier.kind == "bulk" or request.manifest(utc_now()).differences(earlier):
        return None
    return DoneEvaluations(request.folder, retry_errors=request.retry_errors)


def _noted(tell: Tell) -> Callable[[str], None]:
    return lambda text: tell(RunNote(text))


def _broken(tell: Tell, file: CaseSource) -> Callable[[BadLine], None]:
    return lambda line: tell(LineBroken(placed(file, line)))


def _repeated(tell: Tell) -> Callable[[Case], None]:
    return lambda case: tell(IdRepeated(case))


def _look_at(cases: CaseChoice, tell: Tell) -> None:
    """A folder is made only for files that can be read; how one is read is told where that is not plain. What can be
    read only once, or is far away, is not opened to find out."""
    for file in cases.files:
        if file.size is not None and not file.is_remote:
            with cases_of(file.address, cases.layout) as source:
                for text in source.notes:
                    tell(RunNote(text if len(cases.files) == 1 else f"{file.name}: {text}"))


def _remember(folder: Path, manifest: Manifest, rubrics: RunRubrics) -> None:
    """Put rubrics that were met on the way into the manifest."""
    known = {used.name: used for used in manifest.rubrics}
    met = {name: UsedRubric.of(rubric) for name, rubric in rubrics.rubrics.items()}
    if met.keys() - known.keys() or any(known[name].hash != used.hash for name, used in met.items()):
        manifest.with_rubrics({**known, **met}.values()).write(folder)
