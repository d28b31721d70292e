"""``rubrica agreement``: votes of stored evaluations, counted and levelled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_runs import GOOD, Cli, WriteLines, rows, stored

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.judges.panel import Panel, Pooling
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Evaluation, Score, Unscored
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load

RUBRIC = """\
name: reply
version: 1.0.0
scale: {min: 1, max: 10}
dimensions:
  tone: {asks: "Is it kind?", weight: 0.5}
  facts: {weight: 0.5, parts: {claims: {asks: "Are the claims true?", weight: 1}}}
score: {weighted: true, out_of: 10}
threshold: 6
judging: {pool: mean}
verdicts:
  - {label: pass, when: "score >= threshold"}
  - {label: fail}
"""
HARSH, KIND = [2, 4, 3, 5], [6, 8, 7, 9]
"""Two judges of four responses who agree on everything but where to begin."""

Given = float | None
MakeResults = Callable[..., Path]


class Fixed:
    """A judge that gives every axis of the n-th response the n-th value."""

    def __init__(self, values: Sequence[Given]) -> None:
        self.values = values

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> dict[str, Score | Unscored]:
        value = self.values[int(context.response)]
        outcome = Unscored("it was busy", "llm") if value is None else Score(float(value), "so", 0.9, "llm")
        return dict.fromkeys(axes, outcome)


def judged(rubric: Rubric, judges: Mapping[str, Sequence[Sequence[Given]]]) -> list[Evaluation]:
    """Each response judged by a panel; a judge has one list of values per repeat."""
    seats = {name: [Fixed(values) for values in repeats] for name, repeats in judges.items()}
    scales = dict.fromkeys(("tone", "facts", "claims"), rubric.scale)
    plan = compile_rubric(rubric, Panel(seats, scales, Pooling(rubric.judging.pool)))
    count = len(next(iter(judges.values()))[0])
    return [asyncio.run(aevaluate(plan, Context(response=str(n)), f"case-{n}")) for n in range(count)]


@pytest.fixture
def rubric_file(tmp_path: Path) -> Path:
    file = tmp_path / "reply.yaml"
    file.write_text(RUBRIC)
    return file


@pytest.fixture
def results(rubric_file: Path, tmp_path: Path) -> MakeResults:
    """A file of evaluations by judges with these values."""

    def make(**judges: Sequence[Given] | Sequence[Sequence[Given]]) -> Path:
        repeats: dict[str, Any] = {name: own if isinstance(own[0], list) else [own] for name, own in judges.items()}
        file = tmp_path / "results.jsonl"
        file.write_text("".join(f"{e.to_json()}\n" for e in judged(load(rubric_file), repeats)))
        return file

    return make


def figures(cli: Cli, file: Path, *options: str | Path) -> dict[str, Any]:
    result = cli("agreement", file, "--json", *options)
    assert result.exit_code == 0, result.stderr
    figures: dict[str, Any] = json.loads(result.stdout)
    return figures


def test_judges_that_always_agree_have_alpha_one_and_no_spread(cli: Cli, results: MakeResults) -> None:
    tone = figures(cli, results(a=HARSH, b=HARSH))["rubrics"]["reply@1.0.0"]["tone"]
    assert (tone["alpha"], tone["spread"], tone["evaluations"]) == (1.0, 0.0, 4)


def test_harshness_is_the_offset_from_the_panel_on_the_same_responses(cli: Cli, results: MakeResults) -> None:
    # c scores only the response that all find best: its high mean is no kindness
    shown = figures(cli, results(a=HARSH, b=KIND, c=[None, None, None, 7]))["rubrics"]["reply@1.0.0"]
    judges = shown["tone"]["judges"]
    assert judges["a"] == {"scores": 4, "missing": 0, "mean": 3.5, "offset": -2.0}
    assert judges["b"] == {"scores": 4, "missing": 0, "mean": 7.5, "offset": 2.0}
    assert judges["c"] == {"scores": 1, "missing": 3, "mean": 7.0, "offset": 0.0}
    assert shown["tone"]["spread"] == 4.0


def test_every_two_judges_have_their_bias_limits_and_kappa(cli: Cli, results: MakeResults) -> None:
    file = results(a=HARSH, b=[3, 4, 4, 8])
    (pair,) = figures(cli, file)["rubrics"]["reply@1.0.0"]["tone"]["pairs"]
    assert pair["judges"] == ["a", "b"]
    assert (pair["count"], pair["bias"]["value"]) == (4, -1.25)  # -1, 0, -1, -3
    # squared distances 11 / 4; by chance the variances 1.25 and 3.6875 and the squared bias
    assert pair["kappa_quadratic"] == pytest.approx(1 - 2.75 / (1.25 + 3.6875 + 1.5625))
    page = " ".join(cli("agreement", file).stdout.split())
    assert f"−1.25 (−{-pair['bias']['low']:g} to " in page
    assert "Bland and Altman" in page
    assert "Bland" not in cli("agreement", results(a=[[2, 4, 3, 5], [2, 4, 3, 9]])).stdout


def test_parts_are_counted_and_their_dimension_is_not(cli: Cli, results: MakeResults) -> None:
    assert set(figures(cli, results(a=HARSH, b=KIND))["rubrics"]["reply@1.0.0"]) == {"tone", "claims"}


def test_repeats_of_one_judge_tell_how_far_it_agrees_with_itself(cli: Cli, results: MakeResults) -> None:
    tone = figures(cli, results(a=[[2, 4, 3, 5], [2, 4, 3, 9]]))["rubrics"]["reply@1.0.0"]["tone"]
    assert 0 < tone["alpha"] < 1
    assert tone["judges"]["a"] == {"scores": 4, "missing": 0, "mean": 4.0, "offset": None}


def test_the_table_shows_dimensions_judges_and_missing_votes(cli: Cli, results: MakeResults) -> None:
    page = cli("agreement", results(a=HARSH, b=[6, 8, None, 9])).stdout
    lines = [line.split() for line in page.splitlines()]
    assert ["Tone", "a", "3.5", "−2", "4", "0"] in lines
    assert ["b", "7.67", "+2", "3", "1"] in lines
    assert ["Tone", "3", "−0.2", "4"] in lines


def test_a_statistic_without_a_value_says_why(cli: Cli, results: MakeResults) -> None:
    page = cli("agreement", results(a=[5, 5], b=[5, 5])).stdout
    assert "Tone: every score is the same" in page


def test_dimensions_of_two_rubrics_are_told_apart(cli: Cli, results: MakeResults, rubric_file: Path) -> None:
    file = results(a=HARSH, b=KIND)
    first = file.read_text()
    rubric_file.write_text(RUBRIC.replace("1.0.0", "2.0.0"))
    file.write_text(first + results(a=KIND, b=KIND).read_text())
    found = figures(cli, file)["rubrics"]
    assert found["reply@1.0.0"]["tone"]["alpha"] < 0.1
    assert found["reply@2.0.0"]["tone"]["alpha"] == 1.0
    assert "reply@2.0.0/Tone" in cli("agreement", file).stdout


def test_levelling_takes_a_harsh_judge_for_what_it_means(
    cli: Cli, results: MakeResults, rubric_file: Path, tmp_path: Path
) -> None:
    # x is harsh and alone on the first response: pooled as it is, that response fails
    file = results(x=[5, 3, 4, 2], y=[None, 7, 9, 6])
    assert [e.verdict for e in stored(file)] == ["fail", "fail", "pass", "fail"]
    out = tmp_path / "levelled.jsonl"
    result = cli("agreement", file, "--level", "-r", rubric_file, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert "did not score the same items" in result.stdout
    after = stored(out)
    assert [e.case for e in after] == ["case-0", "case-1", "case-2", "case-3"]
    changed = sum(e.verdict != old.verdict for e, old in zip(after, stored(file), strict=True))
    assert f"{changed} of 4 verdicts changed" in result.stdout
    assert (changed, after[0].verdict) == (1, "pass")
    assert "judges levelled: x 5 → 7.0" in after[0].dimensions["tone"].reason


def test_levelled_votes_are_kept_and_pooled_on_the_scale(
    cli: Cli, results: MakeResults, rubric_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "levelled.jsonl"
    assert cli("agreement", results(a=HARSH, b=KIND), "--level", "-r", rubric_file, "-o", out).exit_code == 0
    first = stored(out)[0]
    for axis in (first.dimensions["tone"], first.dimensions["facts"].parts["claims"]):
        assert [vote.value for vote in axis.votes] == [pytest.approx(4.0), pytest.approx(4.0)]
        assert axis.value == pytest.approx(4.0)
    assert first.score == pytest.approx(4.0)
    assert figures(cli, out)["rubrics"]["reply@1.0.0"]["tone"]["alpha"] == pytest.approx(1.0)


def test_levelling_keeps_a_verdict_open_where_repeats_differ(
    cli: Cli, results: MakeResults, rubric_file: Path, tmp_path: Path
) -> None:
    file = results(a=[[5, 2, 8], [7, 2, 8]], b=[[5, 2, 8], [7, 2, 8]])
    before = [e.verdict for e in stored(file)]
    assert before == ["inconclusive", "fail", "pass"]
    out = tmp_path / "levelled.jsonl"
    cli("agreement", file, "--level", "-r", rubric_file, "-o", out)
    assert [e.verdict for e in stored(out)] == before


def test_levelling_can_be_told_as_json_or_as_lines(cli: Cli, results: MakeResults, rubric_file: Path) -> None:
    file = results(a=HARSH, b=KIND)
    told = figures(cli, file, "--level", "-r", rubric_file)["levelled"]
    assert told["changed"] == 0
    assert sum(row["evaluations"] for row in told["verdicts"]) == 4
    lines = cli("agreement", file, "--level", "-r", rubric_file, "-o", "-")
    assert [Evaluation.from_json(line).case for line in lines.stdout.splitlines()] == [f"case-{n}" for n in range(4)]
    assert "0 of 4 verdicts changed" in lines.stderr


def test_one_judge_alone_cannot_be_levelled_and_nothing_is_written(
    cli: Cli, results: MakeResults, rubric_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "levelled.jsonl"
    result = cli("agreement", results(a=[HARSH, KIND]), "--level", "-r", rubric_file, "-o", out)
    assert result.exit_code == 1
    assert "nothing to level" in result.stderr
    assert not out.exists()


def test_evaluations_by_another_rubric_are_told_and_left_out_of_levelling(
    cli: Cli, results: MakeResults, rubric_file: Path, tmp_path: Path
) -> None:
    file = results(a=HARSH, b=KIND)
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text(first.replace('"rubric":"reply"', '"rubric":"other"') + "{broken\n" + "".join(rest))
    out = tmp_path / "levelled.jsonl"
    result = cli("agreement", file, "--level", "-r", rubric_file, "-o", out)
    assert result.exit_code == 1
    assert "line 1: judged by other, not by reply" in result.stderr
    assert result.stderr.count("line 2: ") == 1
    assert [e.case for e in stored(out)] == ["case-1", "case-2", "case-3"]


def test_a_file_without_votes_is_told_with_the_way_out(
    cli: Cli, tiny: Path, tmp_path: Path, write_lines: WriteLines
) -> None:
    file = tmp_path / "results.jsonl"
    assert cli("eval", write_lines(rows(GOOD)), "-r", tiny, "-o", file).exit_code == 0
    result = cli("agreement", file)
    assert result.exit_code == 1
    assert "none of 1 evaluation has votes" in result.stderr
    assert "-J MODEL -J OTHER" in result.stderr
    file.write_text("")
    assert "holds no evaluation" in cli("agreement", file).stderr


def test_levelling_needs_a_rubric_and_a_file(cli: Cli, results: MakeResults, rubric_file: Path) -> None:
    file = results(a=HARSH, b=KIND)
    assert cli("agreement", file, "--level").exit_code == 2
    assert cli("agreement", file, "-o", "out.jsonl").exit_code == 2
    assert cli("agreement", "-", "--level", "-r", rubric_file, input=file.read_bytes()).exit_code == 2
    assert cli("agreement", "-", input=file.read_bytes()).exit_code == 0


def test_a_calibrated_rubric_tells_how_reliable_each_judge_is(
    cli: Cli, results: MakeResults, rubric_file: Path, tmp_path: Path
) -> None:
    file = results(a=HARSH, b=KIND)
    assert "no calibration" in cli("agreement", file, "-r", rubric_file).stdout
    labels = [
        {"id": n, "judge": judge, "dimension": "tone", "score": min(10, n % 6 + 1 + kinder), "human": n % 6 + 3}
        for n in range(30)
        for judge, kinder in (("a", 0), ("b", 3))
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    calibrated = tmp_path / "calibrated.yaml"
    made = cli("calibrate", tmp_path / "labels.jsonl", "-r", rubric_file, "-o", calibrated)
    assert made.exit_code == 0, made.stderr
    printed = cli("agreement", file, "-r", calibrated).stdout
    assert "against people: RMSE" in printed
    told = json.loads(cli("agreement", file, "-r", calibrated, "--json").stdout)["reliability"]["tone"]
    assert (told["a"]["bias"], told["b"]["bias"]) == (-2, 1)
    assert told["a"]["rmse"] == 2
    alone = results(a=HARSH)
    alone.write_text("".join(_unvoted(line) + "\n" for line in alone.read_text().splitlines()))
    assert cli("agreement", alone).exit_code == 1
    single = cli("agreement", alone, "-r", calibrated)
    assert single.exit_code == 0, single.stderr
    assert "none of 4 evaluations has votes" in single.stdout
    assert "against people: RMSE" in single.stdout
    assert json.loads(cli("agreement", alone, "-r", calibrated, "--json").stdout)["reliability"]["tone"] == told


def _unvoted(line: str) -> str:
    """A stored evaluation as one judge, asked once, leaves it."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(own) for key, own in value.items() if key != "votes"}
        return [without(own) for own in value] if isinstance(value, list) else value

    return json.dumps(without(json.loads(line)))


def test_answers_are_held_against_those_of_the_same_cases_in_another_file(
    cli: Cli, results: MakeResults, tmp_path: Path
) -> None:
    alone = results(a=[2, 4, 3, 9]).rename(tmp_path / "alone.jsonl")
    batched = results(a=[2, 7, None, 9])
    told = json.loads(cli("agreement", batched, "--against", alone, "--json").stdout)
    tone = told["dimensions"]["reply/tone"]
    assert (told["cases"], told["verdicts_changed"]) == (4, 2)
    assert (tone["count"], tone["changed"], tone["lost"], tone["gained"]) == (3, 1, 1, 0)
    assert tone["bias"]["value"] == pytest.approx(1.0)  # 7 in place of 4, over three answers
    page = cli("agreement", batched, "--against", alone).stdout
    assert "1 of 3 answers changed (33" in page
    assert "1 not scored any more" in page
    assert "2 of 4 verdicts changed" in page


def test_files_without_a_case_in_common_are_refused(cli: Cli, results: MakeResults, tmp_path: Path) -> None:
    file = results(a=[2, 4])
    other = tmp_path / "other.jsonl"
    other.write_text(file.read_text().replace("case-", "item-"))
    refused = cli("agreement", file, "--against", other)
    assert refused.exit_code == 1
    assert "judge the same cases" in refused.stderr
