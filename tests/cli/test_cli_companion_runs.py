"""Companion trials as runs, with a provider: what is paid for once, what ends them, intervals, prompts times models."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Cli, stored
from loopback import Loopback, Seen
from typer.testing import Result

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("companion", "runs")]
from runs_judged import environment, provided

SPEAKS, JUDGES = "openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"
DIMENSIONS = (
    "emotional_intelligence", "conversational_quality", "helpfulness", "appropriateness", "personalization_continuity",
    "trust_boundaries",
)  # fmt: skip
NIGHT = """\
name: night
cases:
  - {id: sleep, says: "I can't sleep again."}
  - id: dog
    turns:
      - "My dog is called Biscuit."
      - {says: "What was her name again?", must_recall: [Biscuit]}
"""
ONE_MORE = '  - {id: tea, says: "Shall I make some tea?"}\n'


def talk(seen: Seen) -> str:
    """A companion with a good memory, and a judge that answers out of ten."""
    if seen.protocol == "anthropic":
        marks = {name: {"reason": "seen", "score": "8/10", "confidence": 0.9} for name in DIMENSIONS}
        return json.dumps({"dimensions": marks, "issues": [], "strengths": [], "suggestions": []})
    before = " ".join(message["content"] for message in seen.body["messages"])
    return f"I hear you, and {'Biscuit' if 'Biscuit' in before else 'that'} matters to me. What would help you now?"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "night.yaml").write_text(NIGHT)
    with provided(script=talk) as server:
        own = {"ANTHROPIC_API_KEY": str(server.key), "RUBRICA_ANTHROPIC_BASE_URL": server.anthropic_url}
        for name, value in (environment(server, tmp_path) | own).items():
            monkeypatch.setenv(name, value)
        yield server


def asked(server: Loopback) -> tuple[int, int]:
    """How often candidate and judge were asked since the last time."""
    counts = [sum(seen.protocol == protocol for seen in server.seen) for protocol in ("openai", "anthropic")]
    server.seen.clear()
    return counts[0], counts[1]


def evaluate(cli: Cli, *options: str, judge: bool = True, **how: Any) -> Result:
    command = ["companion", "evaluate", "--prompt", "Be Mira.", "-m", SPEAKS, "-s", "night.yaml", "-o", "mira"]
    return cli(*command, *(["--judge", JUDGES] if judge else []), *options, **how)


def test_a_scenario_that_is_added_or_changed_is_held_and_judged_alone(cli: Cli, server: Loopback) -> None:
    first = evaluate(cli, "--json")
    assert first.exit_code == 0, first.stderr
    told = json.loads(first.stdout)
    assert told["mean"] == pytest.approx(0.8)  # of the judge's 8/10
    assert asked(server) == (3, 3)

    Path("night.yaml").write_text(NIGHT + ONE_MORE)
    more = evaluate(cli, "--json")
    assert len(json.loads(more.stdout)["replies"]) == 4
    assert asked(server) == (1, 1)

    Path("night.yaml").write_text((NIGHT + ONE_MORE).replace("her name again", "the dog's name"))
    evaluate(cli)
    assert asked(server) == (1, 1)  # the turn before stays as it was

    Path("night.yaml").write_text(
        (NIGHT + ONE_MORE).replace("her name again", "the dog's name").replace("sleep again", "sleep")
    )
    changed = evaluate(cli, "--rubric", "voice-companion", "--temperature", "0")
    assert asked(server) == (1, 1)
    assert "Run:  mira" in changed.stdout
    assert len(stored(Path("mira/evaluations.jsonl"))) == 4  # what is superseded is gone


def test_the_folder_is_a_run_for_every_command_about_runs(cli: Cli, server: Loopback, tmp_path: Path) -> None:
    evaluate(cli)
    assert {path.name for path in (tmp_path / "mira").iterdir()} >= {
        "evaluations.jsonl", "evaluations.parquet", "summary.json", "report.html", "trial.html", "replies.jsonl",
    }  # fmt: skip
    assert "3 evaluations" in cli("summary", "mira").stdout
    assert "night/dog#2" in cli("explain", "mira", "night/dog#2").stdout
    assert cli("report", "mira", "-o", "again.html").exit_code == 0
    assert cli("review", "sample", "mira", "-o", "review.csv").exit_code == 0
    assert "no difference" in cli("compare", "mira", "mira").stdout
    for page in ("mira/report.html", "again.html"):
        assert "must recall" in Path(page).read_text()


def test_a_dead_judge_ends_with_the_reason_and_costs_no_reply_twice(
    cli: Cli, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-wrong-0123456789")
    for options in ([], ["--overall"]):
        dead = evaluate(cli, *options)
        assert dead.exit_code == 1
        assert "401" in dead.stderr or "key" in dead.stderr
        assert "the same command goes on" in dead.stderr
        assert "0.500" not in dead.stdout
    assert asked(server)[0] == 3  # the second time, the replies were there
    monkeypatch.setenv("ANTHROPIC_API_KEY", str(server.key))
    assert evaluate(cli).exit_code == 0
    assert asked(server) == (0, 3)


def test_a_dead_candidate_ends_with_the_reason(cli: Cli, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
    dead = evaluate(cli)
    assert dead.exit_code == 1
    assert "no model answered the last 2 cases" in dead.stderr
    assert asked(server) == (0, 0)


def test_repeats_are_counted_added_to_and_have_intervals(cli: Cli, server: Loopback) -> None:
    numbers: Iterator[int] = iter(range(100))
    marks = [0.6, 0.9]

    def judged(seen: Seen) -> str:
        if seen.protocol == "openai":
            return talk(seen)
        return f"Score: {marks[next(numbers) % 2]} | Reasoning: now so, now so"

    server.script = judged
    twice = json.loads(evaluate(cli, "--repeat", "2", "--overall", "--json", "-j", "1").stdout)
    assert asked(server) == (6, 6)
    assert twice["repeats"] == 2
    assert {one["case"] for one in twice["replies"]} >= {"night/sleep", "night/sleep~2", "night/dog#2~2"}
    sleep = next(one for one in twice["cases"] if one["scenario"] == "night/sleep")
    assert sleep["repeats"] == 2
    assert sleep["interval"][0] < sleep["mean"] < sleep["interval"][1]
    assert all(0 <= end <= 1 for one in twice["cases"] for end in one["interval"])
    assert len(twice["assertions"]) == 2
    again = evaluate(cli, "--repeat", "4", "--overall", env={"COLUMNS": "80"})
    assert asked(server) == (6, 6)
    lines = again.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert any(line.split()[:1] == ["night/sleep"] and line.split()[-1] == "4" for line in lines)


def test_what_a_trial_would_ask_is_told_and_a_budget_holds_for_both(cli: Cli, server: Loopback) -> None:
    rows = {line.split()[0]: line.split() for line in evaluate(cli, "--dry-run").stdout.splitlines()[1:3]}
    assert (rows[SPEAKS][1], rows[JUDGES][1]) == ("3", "3")
    assert rows[JUDGES][-1].startswith("$")
    assert not Path("mira").exists()
    short = evaluate(cli, "--budget", "0.0001")
    assert short.exit_code == 1
    assert "of the budget of $0.0001 is spent" in short.stderr
    spoken, judged = asked(server)
    assert judged == 0
    left = {line.split()[0]: line.split()[1] for line in evaluate(cli, "--dry-run").stdout.splitlines()[1:3]}
    assert int(left[SPEAKS]) == 3 - spoken
    assert evaluate(cli, "--budget", "1").exit_code == 0
    assert asked(server) == (3 - spoken, 3)
    assert "to speak" in evaluate(cli).stdout


def test_two_prompts_and_two_models_are_one_comparison_with_a_page(cli: Cli, server: Loopback) -> None:
    def speaks(seen: Seen) -> str:
        if seen.protocol == "anthropic":
            return talk(seen)
        return "**Noted.**" if seen.body["model"] == "gpt-4o" else talk(seen)

    server.script = speaks
    command = ["companion", "compare", "Be kind.", "Be <brief>.", "-m", SPEAKS, "-m", "openai:gpt-4o"]
    days = "".join(f"  - {{id: day-{n}, says: Tell me about day {n}.}}\n" for n in range(7))
    Path("days.yaml").write_text(f"name: days\ncases:\n{days}")
    command += ["-s", "days.yaml", "-o", "both.html"]
    done = cli(*command, env={"COLUMNS": "80"})
    assert done.exit_code == 100, done.stderr
    assert asked(server) == (4 * 7, 0)
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    rows = {line[:2]: line for line in lines if line[:2] in ("A ", "B ", "C ", "D ") and "0." in line}
    assert len(rows) == 4
    assert "worse" in rows["B "]
    assert "same" in rows["C "]
    assert "worse" in rows["D "]
    assert any(line.startswith(SPEAKS) and "openai:gpt-4o" in line and "worse" in line for line in lines)
    page = Path("both.html").read_text()
    assert "Be &lt;brief&gt;." in page
    assert "<brief>" not in page
    assert "src=" not in page
    told = json.loads(cli(*command, "--json").stdout)
    assert asked(server) == (0, 0)
    assert [one["name"] for one in told["candidates"]][1] == "Be kind. · openai:gpt-4o"
    assert len(told["comparisons"]) == 3
    assert {(one["in_place_of"], one["with"]) for one in told["effects"]} == {
        ("Be kind.", "Be <brief>."),
        (SPEAKS, "openai:gpt-4o"),
    }
    runs = [str(path) for path in sorted(Path("both.html.trial").iterdir())]
    assert len(runs) == 4
    assert "regression" in cli("compare", runs[1], runs[0]).stdout + cli("compare", runs[0], runs[1]).stdout


def test_a_reply_that_must_not_be_given_is_worse_whatever_the_means(cli: Cli, server: Loopback) -> None:
    def forgets(seen: Seen) -> str:
        brief = seen.body["messages"][0]["content"] == "Be brief."
        return talk(seen).replace("Biscuit", "that") if brief and seen.protocol == "openai" else talk(seen)

    server.script = forgets
    how = ["-m", SPEAKS, "-s", "night.yaml", "--judge", JUDGES]
    done = cli("companion", "compare", "Be kind.", "Be brief.", *how, "-o", "two")
    assert done.exit_code == 100
    told = "✕ Be brief.: 1 reply that must not be given, where the first gives none: night/dog#2"
    assert told in " ".join(done.stdout.split())
    assert "that must not be given" in Path("two/comparison.html").read_text()
    assert cli("companion", "compare", "Be brief.", "Be kind.", *how).exit_code == 0


def test_a_judge_that_cannot_be_read_leaves_nothing_to_compare_and_is_told(cli: Cli, server: Loopback) -> None:
    server.script = lambda seen: "Lovely." if seen.protocol == "anthropic" else talk(seen)
    done = cli("companion", "compare", "Be kind.", "Be brief.", "-m", SPEAKS, "-s", "night.yaml", "--judge", JUDGES)
    assert done.exit_code == 1
    assert "the judge's scores of 3 replies missing, such as night/sleep: the reply could not be read" in done.stderr
    assert "no reply has a score" in done.stderr


def test_one_candidate_is_nothing_to_compare(cli: Cli, server: Loopback) -> None:
    alone = cli("companion", "compare", "Be kind.", "-m", SPEAKS, "-s", "night.yaml")
    assert alone.exit_code == 1
    assert "1 candidate to compare" in alone.stderr


def test_another_judge_judges_the_replies_that_are_there(cli: Cli, server: Loopback) -> None:
    evaluate(cli, judge=False)
    assert asked(server) == (3, 0)
    judged = evaluate(cli)
    assert "a new trial, changed since: judges: none → anthropic:claude-haiku-4-5" in judged.stderr
    assert asked(server) == (0, 3)
    evaluate(cli, "--no-resume")
    assert asked(server) == (3, 3)


def told_of(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_an_empty_reply_is_vetoed_and_a_missing_one_keeps_the_prompt_from_shipping(cli: Cli, server: Loopback) -> None:
    server.script = lambda seen: "" if "Biscuit" in seen.prompt and seen.protocol == "openai" else talk(seen)
    empty = evaluate(cli, "--json")
    assert empty.exit_code == 100
    assert "there is no reply (night/dog#1)" in json.loads(empty.stdout)["reason"]
    server.script, server.faults = talk, [*[None] * server.requests, "refused"]
    missing = evaluate(cli, "--no-resume", "--json", "-j", "1")
    assert missing.exit_code == 1
    told = json.loads(missing.stdout)
    assert (told["decision"], len(told["missing"])) == ("inconclusive", 1)
    assert [line["case"] for line in told_of("mira/errors.jsonl")] == ["night/sleep"]
