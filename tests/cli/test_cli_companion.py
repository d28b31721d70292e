"""`rubrica companion`: the decision as an exit code, the page, stored evaluations, Langfuse by its variables."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Cli, process, stored
from loopback import Seen

from rubrica import load

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("companion", "runs")]
from langfuse_server import LangfuseServer
from runs_judged import environment, provided

WARM = {"reply": "That sounds hard, and it makes sense. I can help you think it through. What matters most to you?"}
COLD = {"reply": "**Noted.** Exercise improves mood."}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials under way lie in the current folder where no file is named."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def replies(tmp_path: Path) -> tuple[str, str]:
    """Two candidates: one fit to ship, one not."""
    warm, cold = tmp_path / "warm.jsonl", tmp_path / "cold.jsonl"
    warm.write_text(json.dumps(WARM) + "\n")
    cold.write_text(json.dumps(COLD) + "\n")
    return f"scripted:{warm}", f"scripted:{cold}"


@pytest.fixture
def points(tmp_path: Path) -> str:
    """The bundled rubric of somebody who takes its rules at their word."""
    file = tmp_path / "by-points.json"
    file.write_text(load("voice-companion").with_offline("point").model_dump_json(exclude_defaults=True))
    return str(file)


def test_a_prompt_fit_to_ship_exits_with_0_and_writes_page_and_evaluations(
    cli: Cli, tmp_path: Path, replies: tuple[str, str], points: str
) -> None:
    page, kept = tmp_path / "trial.html", tmp_path / "kept.jsonl"
    options = ["--prompt", "Be Mira.", "--model", replies[0], "-s", "support", "-o", str(page), "--save", str(kept)]
    done = cli("companion", "evaluate", *options, "-r", points)
    assert done.exit_code == 0, done.stdout
    assert "deploy" in done.stdout
    assert "Emotional support" in page.read_text()
    stored = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {one["rubric"] for one in stored} == {"voice-companion"}
    assert len({one["case"] for one in stored}) == len(stored) == 11


def test_rules_alone_ship_no_prompt(cli: Cli, replies: tuple[str, str]) -> None:
    done = cli("companion", "evaluate", "--prompt", "Be Mira.", "--model", replies[0], "-s", "support", "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["decision"]) == (100, "inconclusive")
    assert told["mean"] > 0.9
    assert told["reason"].endswith("a judge can tell")
    printed = cli("companion", "evaluate", "--prompt", "Be Mira.", "--model", replies[0], "-s", "support")
    assert "a judge can tell. --judge MODEL asks a model." in " ".join(printed.stdout.split())


def test_a_prompt_that_needs_revision_exits_with_100_and_says_why(
    cli: Cli, replies: tuple[str, str], points: str
) -> None:
    done = cli("companion", "evaluate", "--prompt", "x", "--model", replies[1], "-s", "support", "--json", "-r", points)
    told = json.loads(done.stdout)
    assert done.exit_code == 100
    assert told["decision"] == "revise"
    assert told["reason"]
    assert told["flags"]["missed-emotion"]
    assert told["scenarios"]["Emotional support"]["overall"] == pytest.approx(told["mean"])


def test_two_prompts_are_paired_by_scenario_and_must_differ(cli: Cli, tmp_path: Path, replies: tuple[str, str]) -> None:
    one, other = tmp_path / "one.md", tmp_path / "other.md"
    one.write_text("Be kind.")
    other.write_text("Be brief.")
    options = ["--model", replies[0], "-s", "support"]
    same = cli("companion", "compare", str(one), str(other), *options)
    assert same.exit_code == 0, same.stderr
    assert "no difference" in same.stdout
    twice = cli("companion", "compare", str(one), str(one), *options)
    assert twice.exit_code == 1
    assert "two different ones" in twice.stderr


@pytest.fixture
def langfuse(monkeypatch: pytest.MonkeyPatch) -> Iterator[LangfuseServer]:
    stored = {"name": "mira", "version": 7, "type": "text", "prompt": "Be Mira.", "labels": ["staging"], "config": {}}
    server = LangfuseServer(prompts={("mira", "staging"): stored})
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def test_a_prompt_comes_from_langfuse_and_the_trial_goes_there(
    cli: Cli, langfuse: LangfuseServer, replies: tuple[str, str], points: str
) -> None:
    options = ["--prompt", "langfuse:mira@staging", "--model", replies[0], "-s", "support", "-r", points]
    done = cli("companion", "evaluate", *options, "--langfuse", "nightly", "--run-name", "tuesday")
    assert done.exit_code == 0, done.stderr
    assert "'tuesday'" in done.stderr
    assert {score["name"] for score in langfuse.scores.values()} >= {"overall", "verdict", "helpfulness"}
    versions = {span["langfuse.observation.prompt.version"] for span in langfuse.spans.values()}
    assert versions == {"7"}


def test_a_trial_that_could_not_be_sent_is_sent_by_the_same_command_and_nobody_is_asked_again(
    cli: Cli, langfuse: LangfuseServer, tmp_path: Path, replies: tuple[str, str], points: str
) -> None:
    options = ["--prompt", "Be Mira.", "--model", replies[0], "-s", "support", "--langfuse", "nightly", "-r", points]
    langfuse.reject_scores = 2
    failed = cli("companion", "evaluate", *options)
    assert failed.exit_code == 1
    assert "refused 2 of its scores" in failed.stderr
    assert "kept in Be-Mira.trial: the same command sends it again" in failed.stderr
    langfuse.reject_scores = 0
    Path(replies[0].removeprefix("scripted:")).write_text(json.dumps({"error": "unauthorised", "message": "no"}))
    assert cli("companion", "evaluate", *options).exit_code == 0
    assert len(langfuse.spans) == 11  # the second run has the name of the first


def test_an_unknown_scenario_and_a_missing_prompt_are_told(cli: Cli, replies: tuple[str, str]) -> None:
    unknown = cli("companion", "evaluate", "--prompt", "x", "--model", replies[0], "-s", "suport")
    assert unknown.exit_code == 1
    assert "did you mean 'support'" in unknown.stderr
    empty = cli("companion", "evaluate", "--prompt", " ", "--model", replies[0])
    assert (empty.exit_code, "there is nothing in it" in empty.stderr) == (1, True)
    missing = cli("companion", "evaluate", "--prompt", "none.md", "--model", replies[0])
    assert missing.exit_code == 1
    assert "none.md" in missing.stderr


def test_what_cannot_be_written_or_sent_is_told_before_a_model_is_asked(
    cli: Cli, tmp_path: Path, replies: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "trial.html"
    page.write_text("an earlier page")
    monkeypatch.delenv("LANGFUSE_PUBLIC_KEY", raising=False)
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-hidden")
    unreachable = "http://127.0.0.1:9/v1#nobody"  # asking it would be told as missing replies, with another exit code
    options = ["--prompt", "x", "--model", unreachable, "-s", "basic"]
    for extra, said in (
        (["-o", str(page)], "add --force"),
        (["--save", str(tmp_path / "no" / "kept.jsonl")], "there is no folder"),
        (["-o", str(tmp_path / "a"), "--save", str(tmp_path / "a")], "named twice"),
        (["--langfuse", "nightly"], "LANGFUSE_PUBLIC_KEY is not set"),
    ):
        done = cli("companion", "evaluate", *options, *extra)
        assert done.exit_code == 1, extra
        assert said in done.stderr
        assert "sk-hidden" not in done.stderr
    assert page.read_text() == "an earlier page"


def test_text_of_others_neither_breaks_nor_steers_the_screen(cli: Cli, tmp_path: Path) -> None:
    suite, replies = tmp_path / "evil.yaml", tmp_path / "evil.jsonl"
    suite.write_text(
        'name: evil\ntitle: "[/x] \\e[31m"\ncases:\n  - {id: a, says: "hi [/x] \\e[31m", tests: "t[/y]"}\n'
        "  - {id: b, says: boom}\n"
    )
    replies.write_text(
        json.dumps({"match": "boom", "error": "rejected", "message": "[/z] \x1b[31m"})
        + "\n"
        + json.dumps({"reply": "I hear you [/x] \x1b[31m."})
    )
    listed = cli("companion", "scenarios", str(suite))
    assert "hi [/x]" in listed.stdout
    held = cli("companion", "evaluate", "--prompt", "Be [/b]", "--model", f"scripted:{replies}", "-s", str(suite))
    assert held.exit_code == 1
    assert "evil/b: [/z]" in held.stdout
    assert "\x1b" not in listed.stdout + held.stdout


def test_every_dimension_is_named_in_full_width_at_80_columns(cli: Cli, replies: tuple[str, str]) -> None:
    done = cli("companion", "evaluate", "--prompt", "x", "--model", replies[1], env={"COLUMNS": "80"})
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split() == ["scenario", "basic", "support", "small_talk", "trust", "continuity", "ages", "all"]
    named = " ".join(line.split("  ")[0].strip() for line in lines[1:14])
    for title in ("Overall", "Emotional intelligence", "Personalization and continuity", "Trust and boundaries"):
        assert title in named


def test_comparing_prompts_that_got_no_reply_says_why(cli: Cli, tmp_path: Path) -> None:
    mute = tmp_path / "mute.jsonl"
    mute.write_text(json.dumps({"error": "unauthorised", "message": "a wrong key"}))
    done = cli("companion", "compare", "Be kind.", "Be brief.", "--model", f"scripted:{mute}", "-s", "basic")
    assert done.exit_code == 1
    assert "a wrong key; what was had is kept in" in done.stderr


# --- trials that stop in the middle -------------------------------------------------------------------------


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C does here what it does in a process of its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_a_trial_that_is_killed_and_interrupted_goes_on_and_asks_nobody_twice(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, kept, folder = tmp_path / "trial.html", tmp_path / "kept.jsonl", tmp_path / "trial.html.trial"
    journal, evaluations = folder / "replies.jsonl", folder / "evaluations.jsonl"
    model = "openai:gpt-4o-mini"
    command: list[Any] = ["companion", "evaluate", "--prompt", "Be Mira.", "--model", model, "--judge", model]
    command += ["--overall", "-s", "support", "-j", "2", "-o", page, "--save", kept]
    interruptions: list[int] = []  # after how many requests Ctrl-C is pressed

    def companion_and_judge(seen: Seen) -> str:
        if interruptions and len(server.seen) >= interruptions[0]:
            interruptions.clear()
            os.kill(os.getpid(), signal.SIGINT)
        judges = "You give one overall score" in seen.body["messages"][0]["content"]
        return "Score: 8/10 | Reasoning: warm" if judges else f"I hear you. You said: {seen.prompt}"

    def lines(file: Path) -> int:
        return file.read_bytes().count(b"\n") if file.exists() else 0

    with provided(script=companion_and_judge, latency=0.2) as server:
        for name, value in environment(server, tmp_path).items():
            monkeypatch.setenv(name, value)
        killed = process(*command, from_scratch=True)
        while killed.poll() is None and lines(journal) < 5:
            time.sleep(0.005)
        killed.kill()
        killed.communicate()
        server.latency = 0.01
        interruptions.append(len(server.seen) + 6 + 6)  # among the judge's
        stopped = cli(*command)
        assert stopped.exit_code == 130
        assert f"interrupted: what was had is kept in {folder}; the same command goes on" in stopped.stderr
        assert not page.exists()
        assert lines(journal) == 11
        had = lines(evaluations)
        assert 0 < had < 11
        done = cli(*command)
        asked = len(server.seen)
        assert cli(*command).exit_code == done.exit_code  # page and file are made anew of what is there
        assert len(server.seen) == asked
    assert f"going on: {had} replies judged before" in done.stderr
    assert "Page:" in done.stdout
    found = stored(kept)
    assert len({one.case for one in found}) == len(found) == 11
    assert {one.score for one in found} == {0.8}
    assert asked <= 2 * 11 + 2 * 2  # two calls were under way, twice
    measured = [one.context.lookup("latency_ms") for one in found if one.context is not None]
    assert len(measured) == 11
    assert max(measured) >= 190  # of what was had before the process was killed
    assert min(measured) >= 5


def test_what_is_missing_is_asked_for_alone_and_changed_terms_begin_anew(cli: Cli, tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    first, second = "I hear you, that is hard. What happened?", "That sounds hard. What would help you?"
    failing = {"match": "bad day", "error": "overloaded", "message": "busy"}
    suite = tmp_path / "own.yaml"
    suite.write_text(
        "name: own\ncases:\n- {id: a, turns: [Good morning., I had a bad day.]}\n- {id: b, says: Hello.}\n"
    )
    command = ["companion", "evaluate", "--prompt", "Be Mira.", "--model", f"scripted:{replies}", "-s", suite, "--json"]

    def held(*lines: dict[str, str], options: list[str] = []) -> tuple[list[str], str]:  # noqa: B006
        replies.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = cli(*command, *options)
        return [one["reply"] for one in json.loads(done.stdout)["replies"]], done.stderr

    got, said = held(failing, {"reply": first})
    assert got == [first, first]
    assert "1 reply missing, such as own/a#2: busy; the same command asks again" in said
    got, said = held(failing, {"reply": second}, options=["--temperature", "0.5"])
    assert "a new trial, changed since: companion temperature: 0.0 → 0.5" in said
    assert "Be-Mira.trial/earlier/1" in said
    assert got == [second, second]
    got, said = held({"reply": first}, options=["--temperature", "0.5"])
    assert "going on: 2 replies judged before" in said
    assert got == [second, first, second]


def test_a_judge_that_owes_a_score_is_asked_again_and_the_companion_is_not(cli: Cli, tmp_path: Path) -> None:
    judge, replies = tmp_path / "judge.jsonl", tmp_path / "replies.jsonl"
    command = ["companion", "evaluate", "--prompt", "x", "--model", f"scripted:{replies}", "-s", "basic", "--json"]
    command += ["--judge", f"scripted:{judge}", "--overall", "-o", "page.html"]

    def held(reply: str, judged: str, *options: str) -> Any:
        replies.write_text(json.dumps({"reply": reply}))
        judge.write_text(json.dumps({"reply": judged}))
        return cli(*command, *options)

    mute = held("First.", "Lovely.")
    assert mute.exit_code == 1
    assert "the judge's scores of 8 replies missing, such as basic/greeting: " in mute.stderr
    assert "--retry-errors asks again" in mute.stderr
    told = json.loads(mute.stdout)
    assert (told["decision"], told["mean"]) == ("inconclusive", None)  # what stands in for a score is none
    again = held("Second.", "Score: 0.9 | Reasoning: kind", "--retry-errors")
    assert {(one["reply"], one["score"]) for one in json.loads(again.stdout)["replies"]} == {("First.", 0.9)}
    assert "0.90" in (tmp_path / "page.html").read_text()
