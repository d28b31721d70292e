"""Examples for a judge out of people's scores: those on which people agree, balanced, what the judge missed first."""

from __future__ import annotations

import json
from pathlib import Path

from runs_samples import a_run, judged, plan_of
from typer.testing import CliRunner

import rubrica
from rubrica.cli.review import app
from rubrica.errors import RubricaError
from rubrica.runs.review.sampling import item_of

KIND = """\
name: kind
version: 1.2.0
dimensions:
  kind: {asks: "Is it kind?", answers: {yes: 1, no: 0}, weight: 0.5}
  wit: {scale: {min: 1, max: 10}, asks: "Is it witty?", weight: 0.5, examples: [{response: "Ha.", score: 5}]}
verdicts: [{label: fine}]
"""


def test_examples_are_added_to_the_rubric_from_what_people_agree_on(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, KIND)
    found = [judged(plan, f"c{i}", {"kind": float(i % 2), "wit": 4.0}) for i in range(8)]
    run = a_run(tmp_path / "week12", [plan], found)

    def filled(name: str, kind: list[int | None]) -> Path:
        file = tmp_path / f"{name}.jsonl"
        scores = [{"kind": value, "wit": 9 if case == 7 else None} for case, value in enumerate(kind)]
        file.write_text(
            "".join(
                json.dumps({"item": item_of(one), "scores": own, "note": "so" if case == 1 else ""}) + "\n"
                for case, (one, own) in enumerate(zip(found, scores, strict=True))
            )
        )
        return file

    # The judge gave 0 1 0 1 0 1 0 1. Ann and Bob do not agree about c0, and the judge missed c1 and c2.
    files = filled("ann", [0, 0, 1, 1, 0, 1, 0, 1]), filled("bob", [1, 0, 1, None, 0, 1, None, None])
    output = tmp_path / "shown.yaml"
    command = ["import", *map(str, files), "--run", str(run), "--examples", str(output), "--most", "4"]
    told = CliRunner(env={"COLUMNS": "200"}).invoke(app, command)
    assert told.exit_code == 0, told.output
    written = rubrica.load(output)
    assert written.version == "1.2.1"
    shown = written.dimensions["kind"].examples
    assert [(one.response, one.answer, one.because) for one in shown] == [
        ("Hello from c1.", "no", "so"),
        ("Hello from c2.", "yes", ""),
        ("Hello from c4.", "no", ""),
        ("Hello from c5.", "yes", ""),
    ]
    assert [(one.response, one.score) for one in written.dimensions["wit"].examples] == [
        ("Ha.", 5),
        ("Hello from c7.", 9),
    ]
    assert "kind 4, wit 1" in told.stdout
    assert "c1, c2, c4, c5, c7" in told.stdout
    again = CliRunner().invoke(app, [*command, "--force", "--json"])
    assert json.loads(again.stdout)["examples"] == {"kind": ["c1", "c2", "c4", "c5"], "wit": ["c7"]}


def test_where_people_never_agree_there_are_no_examples(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, KIND)
    one = judged(plan, "c0", {"kind": 1.0, "wit": 4.0})
    run = a_run(tmp_path / "week12", [plan], [one])
    files = []
    for name, value in (("ann", 0), ("bob", 1)):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text(json.dumps({"item": item_of(one), "scores": {"kind": value}}) + "\n")
    command = ["import", *map(str, files), "--run", str(run), "--examples", str(tmp_path / "shown.yaml")]
    told = CliRunner().invoke(app, command)
    assert isinstance(told.exception, RubricaError)
    assert "people agree on no response" in str(told.exception)
    assert not (tmp_path / "shown.yaml").exists()
