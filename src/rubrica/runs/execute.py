"""Executes a run: cases are judged into a folder, so that nothing is lost and the same request goes on.

`rubrica run`, the studio and the workflows call it. It prints nothing: whoever calls it hears events, and shows them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from rubrica.engine.audience import listeners
from rubrica.engine.cases import BadLine, Case
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of

from .batch import Batch, Evaluator
from .bulk_choice import bulk_options, takes_bulk
from .core_evaluator import CoreEvaluator
from .cores import cores
from .events import (
    EventCallback,
    IdRepeated,
    LineBroken,
    RunCounts,
    RunEstimate,
    RunEvent,
    RunNote,
    RunOpened,
    RunOutcome,
    ignore_event,
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
    request: RunRequest,
    on_event: EventCallback = ignore_event,
    stop: Event | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> RunOutcome:
    """Judge what is still to be judged, and write the files of a finished run.

    Setting `stop` ends it after the evaluation that is finished next, as Ctrl-C does at once; a bulk run takes Ctrl-C
    only. A RubricaError says why a run cannot be executed at all.
    """
    request = replace(request, cases=request.cases.with_files())
    cases = request.cases
    with ExitStack() as stack:
        on_event = _mirror_to_store(request, on_event, stack)
        jury = _open_judges(request, on_event, stack)
        rubrics = RunRubrics(request.rubric, cases.judged_by(jury.judge_of) if jury is not None else None)
        manifest = request.manifest(clock())
        if takes_bulk(request, rubrics.plan(None) if request.rubric is not None else None):
            manifest = msgspec.structs.replace(manifest, kind="bulk")
        if cases.material is None:
            _report_layout_notes(cases, on_event)
        opening = stack.enter_context(open_run_folder(request.folder, manifest, resume=request.resume))
        preparation = FinishPreparation(request.folder, rubrics.rubrics, request.judging.names)
        execution = _Execution(request, rubrics, opening, on_event, stop, stack.enter_context(preparation))
        if opening.manifest.kind == "bulk":
            outcome = execution.in_bulk()
        else:
            outcome = execution.one_by_one(jury)
        if outcome.ending != "finished":
            mark_ended(request.folder, "stopped" if outcome.ending == "stopped" else "failed", outcome.reason)
            return outcome
        now = clock()
        made: Sequence[str] = ()
        if cases.material is not None:
            preparation.wait_until_tidy()
            made = cases.material.conclude(request.folder, now)
        from .finish import finish  # here, because templates and charts are slow to load and not needed earlier

        tally, notes = finish(request.folder, now, preparation.derived, preparation.wait_until_tidy)
        for text in (*made, *notes):
            on_event(RunNote(text))
        return replace(outcome, tally=tally)


def estimate_run(request: RunRequest, on_event: EventCallback = ignore_event) -> RunEstimate:
    """Estimate the calls and the price of a run: no model is asked and nothing is written."""
    cases, tally = request.cases.with_files(), RunTally()
    with open_jury(replace(request.judging, dry=True), _note_callback(on_event), warm=cases.repeat > 1) as jury:
        rubrics, done = RunRubrics(request.rubric, cases.judged_by(jury.judge_of)), _done_before(request)
        wanted = done.wanted if done is not None else None
        selection = cases.settled()
        with cases.opened() as file:
            batch = Batch(
                rubrics,
                tally,
                _broken_line_callback(on_event, file),
                cases.context,
                jury.evaluator,
                cases.repeat,
                wanted,
            )
            for _ in batch.evaluations(selection.of(cases.distinct(file, _repeated_id_callback(on_event)))):
                pass
        return RunEstimate(tally.judged, tuple(jury.estimates), done.skipped if done is not None else 0)


class _Execution(msgspec.Struct, frozen=True):
    """A run in its locked folder."""

    request: RunRequest
    rubrics: RunRubrics
    opening: RunOpening
    on_event: EventCallback
    stop: Event | None
    preparation: FinishPreparation

    def one_by_one(self, jury: JurySession | ClusterSession | None) -> RunOutcome:
        """Judge case after case, and keep each evaluation as it is finished."""
        request, tally, material = self.request, RunTally(), self.request.cases.material
        derived = material.derived if material is not None else ()
        kept = RunWriter(request.folder, retry_errors=request.retry_errors, derived=derived)

        def loop() -> bool:
            try:
                self.on_event(RunOpened(self.opening, kept.done.before, kept.done.unreadable))
                if material is not None and not material.prepare(request.folder, self.on_event, self.stop):
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
            self.preparation.tidy(kept)
            if (gone := kept.done.missing_cases) and request.cases.selection == EVERY_CASE:
                leftover = f"{count_of(gone, 'evaluation')} of cases that were judged before and are not among these"
                self.on_event(RunNote(f"the run keeps {leftover} (begin anew to leave them out)"))
        return RunOutcome(ending, counts, self.rubrics.rubrics, reason=reason)

    def _judge_all(self, kept: RunWriter, tally: RunTally, jury: JurySession | ClusterSession | None) -> bool:
        """Write every evaluation to disk; False if that was stopped."""
        cases = self.request.cases
        evaluator = jury.evaluator if jury is not None else self._by_code()
        selection, expected = cases.settled(), cases.expected()
        with cases.opened() as file:

            def broken(line: BadLine) -> None:
                line = placed(file, line)
                self.on_event(LineBroken(line))
                kept.broken(line)

            batch = Batch(self.rubrics, tally, broken, cases.context, evaluator, cases.repeat, kept.wanted)
            evaluations = batch.evaluations(selection.of(cases.distinct(file, _repeated_id_callback(self.on_event))))
            results = kept.kept(evaluations, self.request.max_failures)
            if jury is not None:
                results = self.preparation.with_preparation(results, kept)
            meter = ProgressMeter(file, kept, tally, expected, jury)
            return draw_results(results, meter.read, self.on_event, self.stop)

    def _by_code(self) -> Evaluator | None:
        """An evaluator that uses every core, unless something listens to evaluations in this process."""
        return None if listeners else CoreEvaluator(self.request.processes or cores())

    def in_bulk(self) -> RunOutcome:
        """Judge all cases into columns of figures."""
        from .bulk.run import bulk_rows  # here, since polars takes half a second to load, and need not be installed

        self.on_event(RunOpened(self.opening))
        request, rubrics = self.request, self.rubrics.rubrics
        started = time.monotonic()
        how = bulk_options(request)
        try:
            done = bulk_rows(self.rubrics.plan(None), request.cases.files, request.folder, how, self.on_event)
        except KeyboardInterrupt:
            return RunOutcome("stopped", RunCounts(seconds=time.monotonic() - started), rubrics, bulk=True)
        counts = RunCounts(done.rows, time.monotonic() - started, broken=done.errors, renamed=done.renamed)
        return RunOutcome("finished", counts, rubrics, bulk=True)


def _mirror_to_store(request: RunRequest, on_event: EventCallback, stack: ExitStack) -> EventCallback:
    """`on_event`, after checking the object store that the run is mirrored to, which may stop the run."""
    if request.store is None:
        return on_event
    check = stack.enter_context(mirrored(request.store.address, _note_callback(on_event), request.store.pace))

    def check_and_report(event: RunEvent) -> None:
        check()
        on_event(event)

    return check_and_report


def _open_judges(request: RunRequest, on_event: EventCallback, stack: ExitStack) -> JurySession | ClusterSession | None:
    """The models that judge, asked from here or from a cluster; None where none is named."""
    judging, warm = request.judging, request.cases.repeat > 1
    if not judging.names:
        return None
    if request.cluster is None:
        return stack.enter_context(open_jury(judging, _note_callback(on_event), warm=warm))
    material = request.cases.material
    if material is not None and not material.distributable:
        raise RubricaError("this is judged on one machine (leave --cluster out)")
    return stack.enter_context(open_cluster(request.cluster, judging, _note_callback(on_event), warm=warm))


def _done_before(request: RunRequest) -> DoneEvaluations | None:
    """The evaluations that need not be made again, if the folder holds a run that would be resumed."""
    if request.store is not None:
        find_copy(request.store.address)
    earlier = read_manifest(request.folder) if request.resume else None
    if earlier is None or earlier.kind == "bulk" or request.manifest(utc_now()).differences(earlier):
        return None
    return DoneEvaluations(request.folder, retry_errors=request.retry_errors)


def _note_callback(on_event: EventCallback) -> Callable[[str], None]:
    return lambda text: on_event(RunNote(text))


def _broken_line_callback(on_event: EventCallback, file: CaseSource) -> Callable[[BadLine], None]:
    return lambda line: on_event(LineBroken(placed(file, line)))


def _repeated_id_callback(on_event: EventCallback) -> Callable[[Case], None]:
    return lambda case: on_event(IdRepeated(case))


def _report_layout_notes(cases: CaseChoice, on_event: EventCallback) -> None:
    """Check that local files can be read before a folder is made, and report how they are read where that is not
    obvious. Standard input and remote files are not opened for this."""
    for file in cases.files:
        if file.size is not None and not file.is_remote:
            with cases_of(file.address, cases.layout) as source:
                for text in source.notes:
                    on_event(RunNote(text if len(cases.files) == 1 else f"{file.name}: {text}"))


def _remember(folder: Path, manifest: Manifest, rubrics: RunRubrics) -> None:
    """Put rubrics that were met on the way into the manifest."""
    known = {used.name: used for used in manifest.rubrics}
    met = {name: UsedRubric.of(rubric) for name, rubric in rubrics.rubrics.items()}
    if met.keys() - known.keys() or any(known[name].hash != used.hash for name, used in met.items()):
        manifest.with_rubrics({**known, **met}.values()).write(folder)
