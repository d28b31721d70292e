"""`rubrica companion`: the decision as an exit code, the page, stored evaluations, Langfuse by its variables."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_runs import Cli

sys.path.append(str(Path(__file__).parents[1] / "companion"))
from langfuse_server import LangfuseServer

WARM = {"reply": "That sounds hard, and it makes sense. I can help you think it through. What matters most to you?"}
COLD = {"reply": "**Noted.** Exercise improves mood."}


@pytest.fixture
def replies(tmp_path: Path) -> tuple[str, str]:
    """Two candidates: one fit to ship, one not."""
    warm, cold = tmp_path / "warm.jsonl", tmp_path / "cold.jsonl"
    warm.write_text(json.dumps(WARM) + "\n")
    cold.write_text(json.dumps(COLD) + "\n")
    return f"scripted:{warm}", f"scripted:{cold}"


def test_a_prompt_fit_to_ship_exits_with_0_and_writes_page_and_evaluations(
    cli: Cli, tmp_path: Path, replies: tuple[str, str]
) -> None:
    page, kept = tmp_path / "trial.html", tmp_path / "kept.jsonl"
    options = ["--prompt", "Be Mira.", "--model", replies[0], "-s", "support", "-o", str(page), "--save", str(kept)]
    done = cli("companion", "evaluate", *options)
    assert done.exit_code == 0, done.stdout
    assert "deploy" in done.stdout
    assert "Emotional support" in page.read_text()
    stored = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {one["rubric"] for one in stored} == {"voice-companion"}
    assert len({one["case"] for one in stored}) == len(stored) == 11


def test_a_prompt_that_needs_revision_exits_with_100_and_says_why(cli: Cli, replies: tuple[str, str]) -> None:
    done = cli("companion", "evaluate", "--prompt", "x", "--model", replies[1], "-s", "support", "--json")
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
    cli: Cli, langfuse: LangfuseServer, replies: tuple[str, str]
) -> None:
    options = ["--prompt", "langfuse:mira@staging", "--model", replies[0], "-s", "support"]
    done = cli("companion", "evaluate", *options, "--langfuse", "nightly", "--run-name", "tuesday")
    assert done.exit_code == 0, done.stderr
    assert "'tuesday'" in done.stderr
    assert {score["name"] for score in langfuse.scores.values()} >= {"overall", "verdict", "helpfulness"}
    versions = {span["langfuse.observation.prompt.version"] for span in langfuse.spans.values()}
    assert versions == {"7"}


def test_an_unknown_scenario_and_a_missing_prompt_are_told(cli: Cli, replies: tuple[str, str]) -> None:
    unknown = cli("companion", "evaluate", "--prompt", "x", "--model", replies[0], "-s", "suport")
    assert unknown.exit_code == 1
    assert "did you mean 'support'" in unknown.stderr
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
    assert held.exit_code == 100
    assert "evil/b: [/z]" in held.stdout
    assert "\x1b" not in listed.stdout + held.stdout


def test_every_dimension_is_named_in_full_width_at_80_columns(cli: Cli, replies: tuple[str, str]) -> None:
    done = cli("companion", "evaluate", "--prompt", "x", "--model", replies[1], env={"COLUMNS": "80"})
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split() == ["scenario", "basic", "support", "small_talk", "trust", "continuity", "ages", "all"]
    named = [line.split()[0] for line in lines[1:8]]
    assert named[1:] == [
        "emotional", "conversational", "helpfulness", "appropriateness", "personalization", "trust",
    ]  # fmt: skip


def test_comparing_prompts_that_got_no_reply_says_why(cli: Cli, tmp_path: Path) -> None:
    mute = tmp_path / "mute.jsonl"
    mute.write_text(json.dumps({"error": "unauthorised", "message": "a wrong key"}))
    done = cli("companion", "compare", "Be kind.", "Be brief.", "--model", f"scripted:{mute}", "-s", "basic")
    assert done.exit_code == 1
    assert "Be kind.: no reply could be had (a wrong key)" in done.stderr
