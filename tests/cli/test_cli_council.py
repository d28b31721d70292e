"""`rubrica council ask` and `rubrica council audit`."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cli_runs import STEADY
from rich.console import Console
from typer.testing import CliRunner, Result

from rubrica.cli.council import app
from rubrica.cli.council_arrived import show_arrived
from rubrica.cli.council_tables import SessionBoard
from rubrica.council.events import (
    AnswerReceived,
    Event,
    FinalWriting,
    GivenReview,
    MemberDropped,
    ReviewFinished,
    StageFinished,
    StageStarted,
)
from rubrica.errors import RubricaError

Council = Callable[..., Result]
SCORES = ("accuracy", "relevance", "completeness", "conciseness", "clarity")


def row(value: float) -> dict[str, Any]:
    return {**dict.fromkeys(SCORES, value), "notes": f"worth {value:g}", "confidence": 0.8}


def script(path: Path, answer: str, values: dict[str, float]) -> str:
    """A scripted member: an answer, what it gives the answers that hold a word, and a final word."""
    every = {label: row(5) for label in "ABC"}
    lines: list[dict[str, Any]] = [
        {"match": "Write the final answer", "reply": f"{path.stem} sums up."},
        {"match": "Review response", "reply": {"evaluations": every | {k: row(v) for k, v in values.items()}}},
        {"reply": answer},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{path}"


@pytest.fixture
def council(monkeypatch: pytest.MonkeyPatch) -> Council:
    for name in ("LLM_COUNCIL_SAFETY_GATE", "LLM_COUNCIL_SAFETY_SCORE_CAP"):
        monkeypatch.delenv(name, raising=False)
    runner = CliRunner(env=STEADY)

    def call(*args: str | Path, **options: Any) -> Result:
        result = runner.invoke(app, [str(arg) for arg in args], **options)
        if isinstance(result.exception, RubricaError):
            return result
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


@pytest.fixture
def models(tmp_path: Path) -> str:
    """Three members that agree: A is best, then B, then C, whoever wrote them."""
    scores = {"A": 9.0, "B": 7.0, "C": 4.0}
    return ",".join(script(tmp_path / f"{name}.jsonl", f"{name} says so.", scores) for name in ("ann", "bo", "cy"))


def test_a_question_is_answered_with_ranking_reviews_and_a_final_answer(council: Council, models: str) -> None:
    result = council("ask", "Why?", "--models", models, "--seed", "1")
    assert result.exit_code == 0, result.stderr
    text = result.stdout
    assert text.index("Response A") < text.index("Response B") < text.index("Response C")
    assert "reviewer" in text
    assert "sums up." in text
    assert "seed 1" in text
    assert "$0.00" in text  # scripts cost nothing


def test_json_has_the_documented_shape(council: Council, models: str) -> None:
    result = council("ask", "Why?", "--models", models, "--seed", "1", "--json")
    plain = json.loads(result.stdout)
    assert plain["ranking"] == ["Response A", "Response B", "Response C"]
    assert plain["evaluations"]["Response A"] | {} == {
        **dict.fromkeys(SCORES, 9.0),
        "overall": 9.0,
        "notes": "worth 9\nworth 9",
        "rank": 1,
        "reviews": 2,
        "verdict": "reliable",
        "borda": 2.0,
        "borda_of": 2.0,
        "normalised": 1.0,
        "z": 1.0,
        "ceiling": None,
    }
    assert plain["metadata"]["safety_gate"] == {
        "enabled": False,
        "score_cap": 0.0,
        "failed_models": [],
        "failed": {},
        "final_passed": None,
    }
    assert list(plain["metadata"]["stages"]) == ["answers", "reviews", "final"]
    assert plain["metadata"]["cost"]["usd"] == 0


def test_the_same_seed_gives_the_same_session(council: Council, models: str) -> None:
    def plain() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(council("ask", "Why?", "--models", models, "--seed", "3", "--json").stdout)
        for stage in found["metadata"]["stages"].values():
            stage.pop("seconds")
        found["metadata"].pop("seconds")
        for answer in found["answers"].values():
            answer.pop("seconds")
        return found

    assert plain() == plain()


def test_options_choose_how_it_is_held(council: Council, models: str, tmp_path: Path) -> None:
    config = tmp_path / "council.yaml"
    config.write_text("tier: quick\npool: borda\n")
    args = ("ask", "Why?", "--models", models, "--config", config, "--self-reviews", "--seed", "1", "--json")
    metadata = json.loads(council(*args).stdout)["metadata"]
    assert (metadata["tier"], metadata["deadline"], metadata["pool"]) == ("quick", 20.0, "borda")
    assert metadata["exclude_self"] is False
    assert json.loads(council(*args, "--pool", "mean").stdout)["metadata"]["pool"] == "mean"


def test_a_variable_that_cannot_be_used_is_named(
    council: Council, models: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_COUNCIL_WEIGHT_ACCURACY", "0.9")
    result = council("ask", "Why?", "--models", models)
    assert "LLM_COUNCIL_WEIGHT_ACCURACY" in str(result.exception)
    assert "sum to 1.55" in str(result.exception)


def test_sessions_are_saved_one_after_another_and_audited(council: Council, models: str, tmp_path: Path) -> None:
    saved = tmp_path / "runs.jsonl"
    for seed in range(7):
        result = council("ask", "Why?", "--models", models, "--both", "--seed", str(seed), "--save", saved)
        assert result.exit_code == 0, result.stderr
    assert len(saved.read_text().splitlines()) == 7
    result = council("audit", saved)
    assert result.exit_code == 0, result.stderr
    assert "7 sessions, 3 reviewers, 42 reviews" in result.stdout
    assert "too few" in result.stdout  # nobody reviewed their own answers
    plain = json.loads(council("audit", saved, "--json").stdout)
    assert plain["sessions"] == 7
    assert plain["variance"]["accuracy"] == {"value": 0.0, "sessions": 7}
    assert {one["kind"] for one in plain["biases"]} == {"position", "length", "self-preference", "harshness"}


def test_lines_that_are_no_session_are_told_and_the_rest_audited(council: Council, models: str, tmp_path: Path) -> None:
    saved = tmp_path / "runs.jsonl"
    council("ask", "Why?", "--models", models, "--save", saved)
    saved.write_text(saved.read_text() + '{"no": "session"}\n')
    result = council("audit", saved)
    assert result.exit_code == 1
    assert "line 2: not a saved council" in result.stderr
    assert "1 session," in result.stdout


def test_an_empty_file_has_nothing_to_audit(council: Council, tmp_path: Path) -> None:
    saved = tmp_path / "runs.jsonl"
    saved.write_text("")
    assert "holds no session" in str(council("audit", saved).exception)


@pytest.mark.parametrize("models", ["", "scripted:a.jsonl"])
def test_a_council_needs_two_models(council: Council, models: str) -> None:
    assert "two or more models" in str(council("ask", "Why?", "--models", models).exception or "")


def test_too_few_answers_are_told_with_everybody_who_is_missing(council: Council, models: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"error": "rejected", "message": "out of order"}\n')
    both = f"{models.split(',')[0]},scripted:{broken}"
    result = council("ask", "Why?", "--models", both)
    assert result.exit_code == 1
    assert "incomplete: answers: a quorum: 1 of 2 models answered" in " ".join(result.stdout.split())
    assert "out of order" in " ".join(result.stdout.split())
    plain = json.loads(council("ask", "Why?", "--models", both, "--json").stdout)
    assert (plain["complete"], len(plain["answers"])) == (False, 1)


def test_ctrl_c_shows_what_had_arrived_and_nothing_half_done_is_saved(council: Council, tmp_path: Path) -> None:
    saved, quick = tmp_path / "runs.jsonl", tmp_path / "quick.jsonl"
    quick.write_text('{"reply": "Honey holds little water."}\n')
    with socket.create_server(("127.0.0.1", 0)) as deaf:

        def interrupt() -> None:
            with deaf.accept()[0]:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.2)

        models = f"scripted:{quick},http://127.0.0.1:{deaf.getsockname()[1]}/v1#deaf"
        thread = threading.Thread(target=interrupt)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            thread.start()
            result = council("ask", "Why?", "--models", models, "--save", saved)
        finally:
            thread.join()
            signal.signal(signal.SIGINT, before)
    assert (result.exit_code, result.stderr.startswith("interrupted: 1 answer had arrived")) == (130, True)
    assert "Honey holds little water." in result.stdout
    assert saved.read_bytes() == b""


def test_what_had_arrived_of_reviews_votes_and_the_chairs_answer_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    given = (GivenReview("bo", {"accuracy": 9.0}, notes="well put"),)
    events: list[Event] = [
        AnswerReceived("ann", 1.0, 2, "In 1889."),
        ReviewFinished("ann", 1.0, 1, 1, given),
        FinalWriting("It was "),
    ]
    assert show_arrived("When?", events, as_json=False) == "1 answer and 1 review had arrived"
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("Review by ann of bo", "accuracy 9. well put", "It was"))
    show_arrived("When?", events, as_json=True)
    plain = json.loads(capsys.readouterr().out)
    assert (plain["reviews"][0]["reviewer"], plain["written"]) == ("ann", "It was ")
    votes = [AnswerReceived("ann", 1.0, 1, "yes: it holds")]
    assert show_arrived("Ok?", votes, as_json=False, what="vote") == "1 vote had arrived"
    assert "Vote of ann\n  yes: it holds" in capsys.readouterr().out


def test_holistic_and_both_exclude_each_other(council: Council, models: str) -> None:
    assert council("ask", "Why?", "--models", models, "--both", "--holistic").exit_code == 2


def test_progress_shows_who_is_done_who_is_dropped_and_who_is_waited_for() -> None:
    board = SessionBoard()
    console = Console(file=StringIO(), width=100, force_terminal=False)

    def shown() -> str:
        console.file = StringIO()
        console.print(board)
        return console.file.getvalue()

    board.take(StageStarted("answers", ("ann", "bo", "cy"), 20.0))
    board.take(AnswerReceived("ann", 1.5, 120))
    board.take(MemberDropped("bo", "answers", "no answer\nwithin 20 s \x1b[31m"))
    text = shown()
    assert "answering" in text
    assert "120 words, 1.5 s" in text
    assert "no answer within 20 s ␛[31m" in text
    assert "cy" in text
    board.take(StageFinished("answers", 20.0, None))
    board.take(StageStarted("reviews", ("ann", "cy"), 20.0))
    board.take(ReviewFinished("cy", 2.0, 1, 2))
    text = shown()
    assert "answering: 1 of 3, 20 s" in text
    assert "1 of 2 answers, 2 s" in text


def test_the_terminal_cannot_be_steered_by_an_answer(council: Council, tmp_path: Path) -> None:
    models = ",".join(script(tmp_path / f"{name}.jsonl", "\x1b[2Jgone \x1b]0;owned\x07", {}) for name in ("ann", "bo"))
    for name in ("ann", "bo"):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(path.read_text().replace("sums up.", "\\u001b[2Jsums up."))
    result = council("ask", "Why?", "--models", models)
    assert "\x1b" not in result.stdout
    assert "sums up." in result.stdout
