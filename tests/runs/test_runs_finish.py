"""The end of a run: tables, summary and page from one pass, in memory that does not grow with the run."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec
import pytest

from rubrica.engine.cases import Case
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.packs.library import load
from rubrica.report.rendering import TEMPLATES
from rubrica.runs.batch import CaseWork
from rubrica.runs.case_order import CaseTurns
from rubrica.runs.files.folder import EVALUATIONS
from rubrica.runs.files.manifest import Manifest, UsedRubric, read_manifest
from rubrica.runs.files.parquet_rows import CHUNK, ColumnsWriter, read_columns
from rubrica.runs.files.rows import RunRow
from rubrica.runs.finish import CHUNK as AT_ONCE
from rubrica.runs.finish import finish, write_derived
from rubrica.runs.preparation import BEFORE_PRICES, FinishPreparation
from rubrica.runs.run_writer import RunWriter
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.summary import summarise
from rubrica.runs.summary.value_counts import ValueCounts

RUBRIC = load("answer-quality")


def rows(count: int) -> Iterator[RunRow]:
    """Rows of which the later ones have a dimension more."""
    chance = Random(3)  # noqa: S311 - figures to count
    for number in range(count):
        values: dict[str, float | None] = {
            "accuracy": float(number % 10),
            "depth": chance.random() if number % 7 else None,
        }
        if number > CHUNK:
            values["clarity"] = float(number % 3)
        score = round(100 * chance.random(), 1)
        verdict = "pass" if score > 50 else "fail"
        yield RunRow(
            f"case-{number}", f"answer-quality@{RUBRIC.version}", verdict, score, 100.0, values,
            fired=("depth: long",) if number % 2 else (), duration_ms=chance.random(),
        )  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of more rows than are held at once."""
    folder = tmp_path_factory.mktemp("finished")
    Manifest(id="1", started="2026-11-15T00:00:00+00:00", rubrics=(UsedRubric.of(RUBRIC),)).write(folder)
    (folder / "evaluations.jsonl").touch()
    tally, notes = write_derived(StoredRun.open(folder), rows(2 * CHUNK + 10))
    assert (tally.judged, notes) == (2 * CHUNK + 10, [])
    return folder


def test_columns_of_a_long_run_hold_every_row_in_order(finished: Path) -> None:
    given = [
        msgspec.structs.replace(row, dimensions={"clarity": None, **row.dimensions}) for row in rows(2 * CHUNK + 10)
    ]
    assert list(read_columns(finished / "evaluations.parquet")) == given


def test_the_summary_is_that_of_all_rows(finished: Path) -> None:
    told = msgspec.json.decode((finished / "summary.json").read_bytes())
    again = msgspec.json.decode(msgspec.json.encode(summarise(rows(2 * CHUNK + 10)).to_dict()))
    assert told == again
    assert told["evaluations"] == 2 * CHUNK + 10
    assert f"{2 * CHUNK + 10:,}" in (finished / "report.html").read_text()


def test_nothing_is_left_beside_the_files_of_a_run(finished: Path) -> None:
    assert {path.name for path in finished.iterdir()} == {
        "evaluations.jsonl", "evaluations.parquet", "report.html", "run.json", "summary.json",
    }  # fmt: skip


def test_columns_that_cannot_be_finished_leave_nothing_behind(tmp_path: Path) -> None:
    def stopped() -> None:
        with ColumnsWriter(tmp_path / "evaluations.parquet") as columns:
            columns.add(list(rows(CHUNK)))
            raise RubricaError("stopped")

    with pytest.raises(RubricaError, match="stopped"):
        stopped()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("order", [1, -1])
def test_values_past_the_bound_are_kept_to_four_digits_whichever_come_first(order: int) -> None:
    values = [number / 7 for number in range(1, 9_000)]
    counts = ValueCounts(most=5_000)
    counts.extend(values[::order])
    counts.append(1 / 7)
    found = counts.counted()
    assert len(found) == len(values) + 1 == len(counts)
    assert len(found.values) < len(values)
    assert found.values[:2] == [0.1429, 0.2857]
    assert found.counts[0] == 2
    assert found.mean == pytest.approx(sum(values) / len(values), rel=1e-3)


def judged(count: int) -> list[Evaluation]:
    """Evaluations that differ."""
    plan = compile_rubric(RUBRIC)
    contexts = ({"response": "So. " * number, "metadata": {"group": f"g{number % 5}"}} for number in range(count))
    return [evaluate(plan, Context.of(context), f"case-{number}") for number, context in enumerate(contexts)]


def slowly(evaluations: list[Evaluation]) -> Generator[Evaluation, None, None]:
    time.sleep(2 * BEFORE_PRICES)
    yield from evaluations


def test_the_end_is_prepared_only_where_a_run_takes_a_while(tmp_path: Path) -> None:
    loaded = TEMPLATES.cache
    assert loaded is not None
    loaded.clear()
    short = FinishPreparation(tmp_path, {}, (), after=30.0)
    kept = RunWriter(tmp_path)
    assert len(list(short.with_preparation(slowly(judged(1)), kept))) == 1
    kept.close()
    assert (len(loaded), short.derived) == (0, None)


def test_files_are_the_same_whether_evaluations_are_added_up_on_the_way_or_read_at_the_end(tmp_path: Path) -> None:
    evaluations, written = judged(AT_ONCE + 3), []
    plan = compile_rubric(RUBRIC)
    works = [CaseWork(Case(own.case or "", 1, Context()), plan, Context()) for own in evaluations]
    finished = [*evaluations[7:], *evaluations[6::-1]]  # models answer in any order
    for way, held in (("on the way", 10**6), ("at the end", 0)):
        folder = tmp_path / way / "run"
        folder.mkdir(parents=True)
        Manifest(id="1", started="2026-11-15T00:00:00+00:00", rubrics=(UsedRubric.of(RUBRIC),)).write(folder)
        kept = RunWriter(folder)
        kept.turns = CaseTurns(held)
        with FinishPreparation(folder, {RUBRIC.name: RUBRIC}, (), after=0.0) as preparation:
            assert all(map(kept.wanted, works))
            for _ in preparation.with_preparation(kept.kept(slowly(finished)), kept):
                pass
            kept.close()
            preparation.tidy(kept)
            assert (preparation.derived is not None) is (held > 0)
            now = datetime(2026, 11, 15, tzinfo=UTC)
            tally, notes = finish(folder, now, preparation.derived, preparation.wait_until_tidy)
        assert (tally.judged, notes) == (len(evaluations), [])
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert {"evaluations.parquet", "report.html", "summary.json"} < written[0].keys()
    assert written[0] == written[1]
    stored = [Evaluation.from_json(line).case for line in written[0]["evaluations.jsonl"].splitlines()]
    assert stored == [own.case for own in evaluations]


def test_a_run_whose_evaluations_cannot_be_put_in_order_is_not_finished(tmp_path: Path) -> None:
    kept = RunWriter(tmp_path)
    Manifest(id="1", started="2026-11-15T00:00:00+00:00", rubrics=(UsedRubric.of(RUBRIC),)).write(tmp_path)
    plan = compile_rubric(RUBRIC)
    evaluations = judged(3)
    assert all(kept.wanted(CaseWork(Case(own.case or "", 1, Context()), plan, Context())) for own in evaluations)
    with FinishPreparation(tmp_path, {RUBRIC.name: RUBRIC}, (), after=0.0) as preparation:
        for _ in preparation.with_preparation(kept.kept(slowly(evaluations[::-1])), kept):
            pass
        kept.close()
        assert preparation.derived is not None
        with (tmp_path / EVALUATIONS).open("ab") as file:
            file.write(b"a line of somebody else\n")
        preparation.tidy(kept)
        with pytest.raises(RubricaError, match="other lines than were written"):
            finish(tmp_path, datetime(2026, 11, 15, tzinfo=UTC), preparation.derived, preparation.wait_until_tidy)
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert manifest.finished is None
