"""How far conversation quality, empathy and the companion's vetoes agree with people: part of `benchmarks.quality`.

Measured on what no weight has seen: the third of the rated conversations that is kept apart, and the part of the
examples under `training/examples` that is. Nothing is learnt from `forum_replies.jsonl` and `rated_dialogues.jsonl`;
one writer made them up and rated them before seeing the code or another text. Nothing is learnt from
`rated_replies.jsonl` either, but its writer later wrote the small talk that is, so expect less of others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, TypeVar

from rich.table import Table
from training.conversation import RatedReply, rated_replies
from training.cues import DANGERS, EMPATHY, CueExample, Exchanged, empathy_examples, exchanges, turn_examples

import rubrica
from rubrica.model.context import Context
from rubrica.scoring.agreement import spearman
from rubrica.scoring.intervals import bootstrap
from rubrica.text import FEATURES
from rubrica.text.cues import cue, cues
from rubrica.text.texts import Texts

from .safety import auc, data, share

T = TypeVar("T")
PACK = "voice-companion"
EMPATHY_GOAL, PER_TURN, PER_DIALOGUE = 0.85, 0.35, 0.50
DIALOGUE_TURNS = 4  # replies of one kind that stand for a dialogue: the set has single replies only
SEED, LEVEL = 16, 0.9
TALK = Path(__file__).parent / "sets" / "companion_talk.jsonl"
CUES = TALK.with_name("companion_cues.jsonl")
CONTRASTS = TALK.with_name("cue_contrasts.jsonl")
APART = TALK.with_name("companion_apart.jsonl")
FORUM = TALK.with_name("forum_replies.jsonl")
DIALOGUES = TALK.with_name("rated_dialogues.jsonl")
REPLIES = TALK.with_name("rated_replies.jsonl")
FORBIDDEN = ("dependence", "secrecy", "dismissal", "harm")


def conversation_table() -> Table:
    """Rank correlation with overall ratings, with intervals from resampling whole conversations."""
    table = _table(
        "Conversation quality on conversations that no weight has seen", "what", "texts", "ρ", "90 %", "goal"
    )
    apart = [each for each in rated_replies(data()) if each.apart]
    rows = {
        "per turn: conversation_quality": [_rated(each) for each in apart],
        "per turn: conversational quality by voice-companion": [_dimension(each) for each in apart],
        "per turn: number of words, beside it": [_words(each) for each in apart],
    }
    small_talk = small_talk_replies()
    own = {
        "per turn, small talk of our own: conversation_quality": [_rated(each) for each in small_talk],
        "per turn, small talk of our own: number of words, beside it": [_words(each) for each in small_talk],
    }
    for replies, measures in ((apart, rows), (small_talk, own)):
        for what, scores in measures.items():
            pairs = [(each.context, score, each.rating) for each, score in zip(replies, scores, strict=True)]
            table.add_row(what, f"{len(replies)}", *_with_interval(pairs, _rank_correlation), f"{PER_TURN}")
    several = _several_replies(apart, rows["per turn: conversation_quality"])
    found = spearman([score for score, _ in several], [rating for _, rating in several]) or 0.0
    what = f"means over {DIALOGUE_TURNS} replies of one kind"
    table.add_row(what, f"{len(several)}", f"{found:.3f}", "", f"{PER_DIALOGUE}")
    dialogues = rated_dialogues()
    for what, scores in {
        "whole dialogues, made up and rated by one writer: dialogue_quality": [
            dialogue_rating(context) for context, _ in dialogues
        ],
        "whole dialogues, made up and rated by one writer: number of words, beside it": [
            _said(context) for context, _ in dialogues
        ],
    }.items():
        pairs = [(row["id"], score, row["quality"]) for score, (_, row) in zip(scores, dialogues, strict=True)]
        table.add_row(what, f"{len(pairs)}", *_with_interval(pairs, _rank_correlation), f"{PER_DIALOGUE}")
    return table


def empathy_table() -> Table:
    """How well the cues tell texts apart in situations that were kept apart."""
    title = "Empathy and distress in situations that no weight has seen (examples of our own)"
    table = _table(title, "cue", "texts", "have it", "AUC", "90 %", "goal")
    replies, turns = ([each for each in several if each.apart] for several in (empathy_examples(), turn_examples()))
    for name in (*EMPATHY.values(), "distress", "crisis"):
        known = [each for each in (replies if name in EMPATHY.values() else turns) if name in each.has | each.has_not]
        scored = [(each.group, _cue(each, name), name in each.has) for each in known]
        goal = f"{EMPATHY_GOAL}" if name in EMPATHY.values() else ""
        having = f"{sum(has for _, _, has in scored)}"
        table.add_row(name, f"{len(known)}", having, *_with_interval(scored, _auc), goal)
    forum = _read(FORUM)
    for name in EMPATHY.values():
        scored = [(row["topic"], cue(Texts(response=row["reply"]), name), row[name]) for row in forum]
        having = f"{sum(has for _, _, has in scored)}"
        what = f"{name}, as in a forum, by another writer"
        table.add_row(what, f"{len(forum)}", having, *_with_interval(scored, _auc), f"{EMPATHY_GOAL}")
    return table


def companion_table() -> Table:
    """Replies to people in danger, by danger: unsafe ones that a gate stops, and safe ones that one stops wrongly."""
    title = "Companion: replies of the half that no weight has seen (examples of our own)"
    table = _table(title, "danger", "unsafe", "stopped", "deployed", "safe", "false alarms")
    judged = [(each, *_judged(each)) for each in exchanges() if each.apart]
    for danger in [*dict.fromkeys(each.danger for each, _, _ in judged), "all"]:
        own = [row for row in judged if danger in ("all", row[0].danger)]
        unsafe = [row for row in own if row[0].does != "safe"]
        safe = [row for row in own if row[0].does == "safe"]
        table.add_row(
            danger,
            f"{len(unsafe)}",
            _share(stopped for _, stopped, _ in unsafe),
            _share(verdict == "deploy" for _, _, verdict in unsafe),
            f"{len(safe)}",
            _share(stopped for _, stopped, _ in safe),
        )
    return table


def talk_table() -> Table:
    """False alarms in everyday talk, much of it in drastic words, beside what is noticed in plain words of danger.

    Examples with odd numbers were looked at when forms to learn from were written, the others were not.
    """
    table = _table(
        "Companion: everyday talk and dangers in plain words (examples of our own)", "what", "texts", "share", "90 %"
    )
    said = [json.loads(line) for line in TALK.read_text(encoding="utf-8").splitlines()]
    talk = [Exchanged(one["id"][:3], one["danger"], one["prompt"], one["does"], one["response"], True) for one in said]
    limit = rubrica.load(PACK).settings["danger_at"]
    judged = [(each, *_judged(each)) for each in talk]
    everyday = [row for row in judged if row[0].danger == "none"]
    grave = [row for row in judged if row[0].danger != "none"]
    topics = {turn for each in rated_replies(data()) if each.apart for turn in each.context.split("\n") if turn.strip()}
    rows = {
        "everyday talk: a good reply is stopped": [(each.group, stopped) for each, stopped, _ in everyday],
        "everyday talk: a danger is heard": [(each.group, _danger(each.said) >= limit) for each, _, _ in everyday],
        "talk about topics: a danger is heard (USR)": [(turn, _danger(turn) >= limit) for turn in sorted(topics)],
        "danger: an unsafe reply is stopped": [(e.group, stopped) for e, stopped, _ in grave if e.does != "safe"],
        "danger: an unsafe reply is deployed": [(e.group, v == "deploy") for e, _, v in grave if e.does != "safe"],
        "danger: a safe reply is stopped": [(e.group, stopped) for e, stopped, _ in grave if e.does == "safe"],
    }
    for what, held in rows.items():
        halves = [held] if "(USR)" in what else [[row for row in held if int(row[0][1:]) % 2 == odd] for odd in (0, 1)]
        for half, note in zip(halves, ("", ", looked at"), strict=False):
            scored = [(group, float(holds), None) for group, holds in half]
            figures = _with_interval(scored, lambda drawn: fmean(score for _, score, _ in drawn))
            table.add_row(what + note, f"{len(half)}", *figures)
    return table


def cue_table() -> Table:
    """Dangers and what only sounds like one, replies that bind and kind ones, and near-opposites of every cue.

    No set is learnt from. The last was written when the reader of cues was made, by somebody who saw no other text; the
    others had been looked at before.
    """
    table = _table(
        "Companion: cues and what only looks like them (examples of our own)", "what", "texts", "share", "90 %"
    )
    settings = rubrica.load(PACK).settings
    limits = {"prompt": settings["danger_at"], "response": settings["veto_at"]}
    rows: dict[str, list[tuple[str, float, None]]] = {}
    for row in _read(CUES):
        heard, has = row["field"] == "prompt", row["has"] != "none"
        names = DANGERS if heard else ("dependence", "secrecy")
        found = max(cue(Texts(**{row["field"]: row["text"]}), name) for name in names) >= limits[row["field"]]
        if heard:
            what = f"a danger is heard: {row['kind']}" if has else "what only sounds like a danger is taken for one"
        else:
            what = (
                "a reply that binds or hides is heard" if has else "a kind reply is taken for one that binds or hides"
            )
        rows.setdefault(what, []).append((row["id"], float(found), None))
    for row in _read(CONTRASTS):
        field = cues()[row["cue"]].field
        found = cue(Texts(**{field: row["text"]}), row["cue"]) >= limits[field]
        what = "near-opposites: a cue is found" if row["has"] else "near-opposites: a harmless text is taken for it"
        rows.setdefault(what, []).append((row["id"], float(found), None))
    for what, told in apart_cues().items():
        rows[f"by another writer: {what}"] = [(group, float(found), None) for group, found in told]
    for what, held in rows.items():
        figures = _with_interval(held, lambda drawn: fmean(score for _, score, _ in drawn))
        table.add_row(what, f"{len(held)}", *figures)
    return table


def apart_cues() -> dict[str, list[tuple[str, bool]]]:
    """What is found of dangers and forbidden replies, and in what is none; written apart from what is learnt."""
    settings = rubrica.load(PACK).settings
    rows: dict[str, list[tuple[str, bool]]] = {}
    for row in _read(APART):
        texts, has = Texts(**{row["field"]: row["text"]}), row["has"]
        if row["field"] == "response":
            found = max(cue(texts, name) for name in FORBIDDEN) >= settings["veto_at"]
            what = (
                "a reply that must not be given is found"
                if has
                else "a fitting reply is taken for one that must not be given"
            )
        elif "grief" in has:
            found, what = cue(texts, "grief") >= settings["danger_at"], "grief is heard"
        else:
            found = max(cue(texts, name) for name in DANGERS) >= settings["danger_at"]
            what = "a danger is heard" if has else "harmless talk is taken for a danger"
        rows.setdefault(what, []).append((row["id"], found))
    return rows


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for at, name in enumerate(columns):
        table.add_column(name, justify="right" if at else "left")
    return table


def _rated(reply: RatedReply) -> float:
    return FEATURES["conversation_quality"].compute(Texts(reply.context, reply.reply))


def small_talk_replies() -> list[RatedReply]:
    """Replies to the last turn of small talk that were made up and rated to measure with."""
    return [
        RatedReply("\n".join(row["before"]), reply["text"], reply["rating"], True)
        for row in _read(REPLIES)
        for reply in row["replies"]
    ]


def rated_dialogues() -> list[tuple[Context, dict[str, Any]]]:
    """Whole dialogues that were made up and rated to measure with."""
    return [(Context.of({"messages": row["messages"]}), row) for row in _read(DIALOGUES)]


def dialogue_rating(context: Context) -> float:
    """What `dialogue_quality` says of a chat."""
    texts = Texts(context.prompt, context.response, context.history, context.asked)
    return FEATURES["dialogue_quality"].compute(texts)


def _words(reply: RatedReply) -> float:
    return float(len(reply.reply.split()))


def _rank_correlation(drawn: Sequence[tuple[str, float, float]]) -> float:
    return spearman([score for _, score, _ in drawn], [rating for _, _, rating in drawn]) or 0.0


def _said(context: Context) -> float:
    """How many words the speaker says in a chat."""
    return float(sum(len(each.content.split()) for each in context.messages if each.role == "assistant"))


def _dimension(reply: RatedReply) -> float:
    result = rubrica.evaluate(PACK, prompt=reply.context, response=reply.reply)
    return result.dimensions["conversational_quality"].value or 0.0


def _cue(example: CueExample, name: str) -> float:
    field = cues()[name].field
    return cue(Texts(example.text) if field == "prompt" else Texts(response=example.text), name)


def _danger(said: str) -> float:
    """How likely a user's turn tells of a danger of any kind."""
    return max(cue(Texts(said), name) for name in DANGERS)


def _judged(exchange: Exchanged) -> tuple[bool, str]:
    """Whether a gate stops a reply, and its verdict."""
    result = rubrica.evaluate(PACK, prompt=exchange.said, response=exchange.reply)
    return any(gate.fired for gate in result.gates), result.verdict


def _several_replies(replies: Sequence[RatedReply], scores: Sequence[float]) -> list[tuple[float, float]]:
    """Means over replies that have one place in the list of their conversation, and so come from one system."""
    places: dict[str, int] = {}
    kinds: dict[int, list[tuple[float, float]]] = {}
    for reply, score in zip(replies, scores, strict=True):
        place = places[reply.context] = places.get(reply.context, -1) + 1
        kinds.setdefault(place, []).append((score, reply.rating))
    parts = [
        several[start : start + DIALOGUE_TURNS]
        for several in kinds.values()
        for start in range(0, len(several) - DIALOGUE_TURNS + 1, DIALOGUE_TURNS)
    ]
    return [(fmean(score for score, _ in part), fmean(rating for _, rating in part)) for part in parts]


def _auc(scored: Sequence[tuple[str, float, bool]]) -> float:
    without, having = ([score for _, score, has in scored if has is wanted] for wanted in (False, True))
    return auc(without, having) if without and having else 0.5


def _with_interval(
    rows: Sequence[tuple[str, float, T]], figure: Callable[[Sequence[tuple[str, float, T]]], float]
) -> tuple[str, str]:
    """A figure of rows that begin with their group, and its interval from resampling groups."""
    groups: dict[str, list[tuple[str, float, T]]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    listed = list(groups.values())
    found = bootstrap(
        range(len(listed)),
        lambda drawn: figure([row for at in drawn for row in listed[int(at)]]),
        Random(SEED),  # noqa: S311 - resampling, not a secret
        level=LEVEL,
    )
    assert found is not None
    return f"{found.value:.3f}", f"{found.low:.2f} to {found.high:.2f}"


def _share(texts: Iterable[bool]) -> str:
    found = list(texts)
    return f"{share(found):.3f}" if found else ""
