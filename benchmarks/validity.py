"""The figures on the cards of scores: ``python -m benchmarks.validity`` prints them, ``--write`` keeps them.

Everything is measured on texts that the recipe or its weights were not made from: the third of a public set that is
kept apart, examples of our own that were kept apart, or the small sets in `benchmarks/sets`, which were written by
another hand than the training examples and before any result on them was known. Where the weights that ship have
learnt from all of a set, the figure is that of cross-validation over its groups, which training keeps beside them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from training.conversation import rated_replies
from training.cues import exchanges
from training.exchanges import Labelled, records, twins
from training.gate_twins import gate_twins
from training.labelled import SAFE, SETS, UNSAFE
from training.written import written

import rubrica
from rubrica.education import maths_grade
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.model.evaluation import Evaluation
from rubrica.packs import validity
from rubrica.packs.validity import Figure
from rubrica.text import FEATURES
from rubrica.text.exchange import Exchange
from rubrica.text.question_type import classify_question
from rubrica.text.risk import risk
from rubrica.text.sentence_risk import Head, reliability
from rubrica.text.texts import Texts

from . import education, preferences, rated_pairs
from .conversation import apart_cues, dialogue_rating, rated_dialogues, small_talk_replies
from .figures import found_at, measured, rank_correlation, ranked_above, share_of
from .questions import copies, is_apart, rejected, styled_questions, told_faults
from .reliability import PACKS, Measured, kept_apart
from .routing import load as routed_answers
from .routing import wrong_sum_risks
from .safety import ALLOWED, data, stops

OWN = Path(__file__).parent / "sets"
KEPT = Path(validity.__file__).with_name("validity.json")
OWN_SET = "texts of our own, written apart"
BY_OTHERS = "by a writer who saw nothing that is learnt from"


def own(name: str) -> list[dict[str, Any]]:
    """One of the small sets that were written apart from everything that is trained on."""
    return [json.loads(line) for line in (OWN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def figures() -> Iterator[Figure]:
    """Every figure, in the order of the page."""
    for pack in PACKS:
        yield from _offline_scores(pack)
    yield from _harmful_answers()
    yield from preferences.figures(preferences.evaluated_pairs())
    yield from _companion_gates()
    yield from _companion_cues()
    yield from _companion_axes()
    yield from _risks()
    yield from _cues()
    yield from _conversation()
    yield from _question_types()
    yield from _maths_grades()
    yield from _worked_sums()
    yield from education.figures()
    yield from _question_checks()
    yield from rated_pairs.figures(rated_pairs.rated_pairs())


def _offline_scores(pack: str) -> Iterator[Figure]:
    for title, seen in kept_apart(pack):
        for name in seen[0].text.people:
            yield from _offline_score(f"{pack}/{name}", name, title, seen)


def _offline_score(score: str, name: str, title: str, seen: list[Measured]) -> Iterator[Figure]:
    groups = [one.text.group for one in seen]
    values, people = [one.value(name) for one in seen], [one.text.people[name] for one in seen]
    if any(low != high for low, high in people):
        result = seen[0].evaluation.dimensions[name]
        good = [low > (result.low + result.high) / 2 for low, _ in people]
        yield measured(_figure(score, title, "AUC"), groups, ranked_above(values, good))
    else:
        yield measured(_figure(score, title, "ρ"), groups, rank_correlation(values, [low for low, _ in people]))
    narrowed = [one for one in seen if one.narrowed(name)]
    if narrowed:
        held = [one.held(name) for one in narrowed]
        about = _figure(score, title, "within its bounds (90 % stated)", "0.85 to 0.95")
        yield measured(about, [one.text.group for one in narrowed], share_of(held))
    undecided = [one.evaluation.verdict == "inconclusive" for one in seen]
    yield measured(_figure(score, title, "verdicts left inconclusive"), groups, share_of(undecided))


def _harmful_answers() -> Iterator[Figure]:
    labelled = SETS["written_apart"]
    plan = compile_rubric(rubrica.load("answer-quality"))
    judged = [(text, evaluate(plan, text.context)) for text in labelled.texts(data())]
    measures = ((UNSAFE, "harmful ones that fail by their safety"), (SAFE, "harmless ones that fail by it"))
    for wanted, measure in measures:
        rows = [(text.group, _fails_by_safety(found)) for text, found in judged if text.people["safety"] == wanted]
        about = _figure("answer-quality/safety", labelled.title, measure)
        yield measured(about, [group for group, _ in rows], share_of([fails for _, fails in rows]))


def _fails_by_safety(evaluation: Evaluation) -> bool:
    return any(gate.name == "safety-floor" and gate.fired for gate in evaluation.gates)


def _companion_gates() -> Iterator[Figure]:
    judged = [(each, rubrica.evaluate("voice-companion", prompt=each.said, response=each.reply)) for each in _apart()]
    stopped = [(each.does != "safe", any(gate.fired for gate in found.gates)) for each, found in judged]
    title = "replies to people in danger, of our own"
    for unsafe, measure in ((True, "unsafe replies stopped"), (False, "safe replies stopped")):
        rows = [stop for is_unsafe, stop in stopped if is_unsafe is unsafe]
        yield measured(_figure("voice-companion/gates", title, measure), range(len(rows)), share_of(rows))


def _companion_cues() -> Iterator[Figure]:
    title = f"talk and replies of our own, {BY_OTHERS}"
    for measure, told in apart_cues().items():
        about = _figure("voice-companion/gates", title, measure)
        yield measured(about, [group for group, _ in told], share_of([found for _, found in told]))


def _companion_axes() -> Iterator[Figure]:
    """How well the axes of a voice companion tell replies of our own that are good by one of them from others."""
    caring = [(row["post"], row["reply"], row["warmth"] or row["understanding"]) for row in own("empathy")]
    leaving_free = [
        ("", row["text"], "dependence" not in row["has"])
        for row in own("companion_apart")
        if row["field"] == "response" and row["has"] in ([], ["dependence"])
    ]
    for axis, rows in (("emotional_intelligence", caring), ("trust_boundaries", leaving_free)):
        told = []
        for said, reply, good in rows:
            value = rubrica.evaluate("voice-companion", prompt=said, response=reply).dimensions[axis].value
            if value is not None:  # the axis applies
                told.append((said or reply, value, good))
        groups, values, labels = zip(*told, strict=True)
        yield measured(_figure(f"voice-companion/{axis}", OWN_SET, "AUC"), groups, ranked_above(values, labels))


def _apart() -> list[Any]:
    return [each for each in exchanges() if each.apart]


def _risks() -> Iterator[Figure]:
    score = "features/safety_risk"
    rows = [Labelled(Exchange(row["prompt"], row["response"]), row["unsafe"]) for row in own("unsafe_answers")]
    alarming_words = [
        Labelled(Exchange(row["prompt"], row["response"]), row["unsafe"]) for row in own("alarming_answers")
    ]
    for title, texts in (
        (OWN_SET, rows),
        (f"harmful answers in a plain voice, and harmless ones in alarming words, {BY_OTHERS}", alarming_words),
        ("near twins of our own, kept apart", twins("apart")),
        ("long answers of our own, kept apart", written("apart", "long")),
        (f"pairs of answers and harmless ones that sound alarming, {BY_OTHERS}", _pairs_apart()),
        (f"answers as assistants give them, {BY_OTHERS}", written("apart", "assistants")),
        (f"answers in roles, games and stories, and harmless ones in the same, {BY_OTHERS}", written("roles_apart")),
    ):
        yield from _told_apart(score, title, texts, "answer")
    texts = written("replies_apart")
    yield from _told_apart("features/conversation_risk", f"replies in chats, {BY_OTHERS}", texts, "reply")
    alarming = [*written("apart", "plain"), *written("apart", "alarming")]
    harmless = [not stops(each.exchange) for each in alarming]
    by_two = "harmless answers that sound alarming, by two such writers"
    yield measured(
        _figure(score, by_two, "pass the council's gate", "≥ 0.95"), range(len(harmless)), share_of(harmless)
    )
    few_words = gate_twins("apart")
    for measure, holds in (
        ("harmless ones that pass the council's gate", [not stops(pair.harmless) for pair in few_words]),
        ("harmful ones that fail it", [stops(pair.harmful) for pair in few_words]),
    ):
        about = _figure(score, "twins of our own that differ in a few words, kept apart", measure, "≥ 0.95")
        yield measured(about, range(len(holds)), share_of(holds))
    rows_of: tuple[tuple[str, Head, str, str], ...] = (
        (score, "answer", "attacks", "answers to attacks, by kinds of attack that were left out"),
        ("features/conversation_risk", "reply", "conversations", "replies in conversations, by prompts left out"),
    )
    for name, head, part, title in rows_of:
        kept = reliability(head).measured
        for measure, key in (("AUC", "auc"), ("recall at 5 % false alarms", "recall")):
            value, error = kept[f"{part}_{key}"], kept[f"{part}_{key}_error"]
            ends = (round(max(value - error, 0.0), 3), round(min(value + error, 1.0), 3))
            yield Figure(name, title, int(kept[f"{part}_texts"]), measure, value, *ends)


def _pairs_apart() -> list[Labelled]:
    return [*written("apart", "pairs"), *written("apart", "plain")]


def _told_apart(score: str, title: str, texts: Sequence[Labelled], head: Head) -> Iterator[Figure]:
    """How well a risk tells unsafe texts from others, and what it finds at few false alarms."""
    found = [getattr(risk(*each.exchange), head) for each in texts]
    unsafe, groups = [each.unsafe for each in texts], [each.group or place for place, each in enumerate(texts)]
    goal, found_goal = ("≥ 0.94", "≥ 0.75") if head == "answer" else ("≥ 0.88", "")
    yield measured(_figure(score, title, "AUC", goal), groups, ranked_above(found, unsafe))
    if sum(not each for each in unsafe) >= 1 / ALLOWED:
        about = _figure(score, title, "recall at 5 % false alarms", found_goal)
        yield measured(about, groups, found_at(ALLOWED, found, unsafe))


def _cues() -> Iterator[Figure]:
    rows = own("empathy")
    for name, label in (("shows_warmth", "warmth"), ("shows_understanding", "understanding"), ("asks_on", "asking_on")):
        values = [FEATURES[name].compute(Texts(row["post"], row["reply"])) for row in rows]
        about = _figure(f"features/{name}", OWN_SET, "AUC", "≥ 0.85")
        yield measured(about, [row["post"] for row in rows], ranked_above(values, [row[label] for row in rows]))


def _conversation() -> Iterator[Figure]:
    score = "features/conversation_quality"
    for title, replies in (
        ("rated replies (USR), kept apart", [each for each in rated_replies(data()) if each.apart]),
        ("replies in small talk, rated by the writer of those that are learnt from", small_talk_replies()),
    ):
        values = [FEATURES["conversation_quality"].compute(Texts(each.context, each.reply)) for each in replies]
        ranked = rank_correlation(values, [each.rating for each in replies])
        yield measured(_figure(score, title, "ρ", "≥ 0.35"), [each.context for each in replies], ranked)
    dialogues = rated_dialogues()
    ranked = rank_correlation(
        [dialogue_rating(context) for context, _ in dialogues], [row["quality"] for _, row in dialogues]
    )
    about = _figure("features/dialogue_quality", OWN_SET, "ρ", "≥ 0.50")
    yield measured(about, [row["id"] for _, row in dialogues], ranked)


def _question_types() -> Iterator[Figure]:
    for name, title in (
        ("question_types", OWN_SET),
        ("everyday_questions", "everyday questions of our own"),
        ("instruction_questions", f"instructions, trivia, exams and dilemmas, {BY_OTHERS}"),
    ):
        rows = own(name)
        right = [(found := classify_question(row["prompt"])) is not None and found.type == row["type"] for row in rows]
        about = _figure("classifiers/question_type", title, "right", "≥ 0.75")
        yield measured(about, range(len(rows)), share_of(right))


def _maths_grades() -> Iterator[Figure]:
    score, rows = "features/maths_grade", own("maths_grades")
    found = [(maths_grade(row["question"]), float(row["grade"])) for row in rows]
    known = [(each, grade) for each, grade in found if not hasattr(each, "reason")]
    places, grades = range(len(known)), [grade for _, grade in known]
    estimates: Any = [each for each, _ in known]
    ranked = rank_correlation([each.value for each in estimates], grades)
    yield measured(_figure(score, OWN_SET, "ρ", "≥ 0.65"), places, ranked)
    near = [abs(each.grade - grade) <= 1 for each, grade in zip(estimates, grades, strict=True)]
    yield measured(_figure(score, OWN_SET, "within one grade", "≥ 0.80"), places, share_of(near))
    held = [each.low <= grade <= each.high for each, grade in zip(estimates, grades, strict=True)]
    yield measured(_figure(score, OWN_SET, "within its bounds (90 % stated)", "0.85 to 0.95"), places, share_of(held))


def _worked_sums() -> Iterator[Figure]:
    records = [record for record in routed_answers() or [] if record.apart]
    wrong = [not record.weak for record in records]
    about = _figure("features/wrong_sum_risk", "answers to school sums, kept apart", "AUC")
    yield measured(about, range(len(records)), ranked_above(wrong_sum_risks(records), wrong))


def _question_checks() -> Iterator[Figure]:
    score, own_rows = "education-question/correctness", told_faults()
    for planted, measure in ((True, "planted faults noticed"), (False, "sound questions called faulty")):
        rows = [told for fault, told in own_rows if bool(fault) is planted]
        yield measured(_figure(score, "questions of our own, kept apart", measure), range(len(rows)), share_of(rows))
    goals = {"wrong key": "≥ 0.99", "wrong value": "≥ 0.97", "as it is": "≤ 0.03"}
    for title, questions, as_it_is in (
        (
            "multiple-choice questions of algebra, kept apart",
            [row for row in records(data(), "mcq_math") if is_apart(row)],
            "original questions rejected, some of them rightly",
        ),
        ("five-option questions of our own, explained in many ways", styled_questions(), "sound questions rejected"),
    ):
        found: dict[str, list[tuple[str, bool]]] = {kind: [] for kind in goals}
        for row in questions:
            for kind, question in copies(row, Random(row["id"])):  # noqa: S311 - a choice of faults
                if kind in goals:
                    found[kind].append((row["id"], bool(rejected(question))))
        for kind, goal in goals.items():
            about = _figure(score, title, as_it_is if kind == "as it is" else f"{kind} rejected", goal)
            yield measured(about, [group for group, _ in found[kind]], share_of([told for _, told in found[kind]]))


def _figure(score: str, texts: str, measure: str, goal: str = "") -> Figure:
    return Figure(score, texts, 0, measure, 0.0, goal=goal)


def table(found: list[Figure]) -> Table:
    """The figures as `make bench-quality` shows them."""
    shown = Table(title="What scores are worth: agreement with people on texts that nothing was made from")
    for name in ("score", "data", "texts", "measure", "value", "95 %", "goal"):
        shown.add_column(name, justify="right" if name in ("texts", "value", "95 %") else "left")
    for each in found:
        between = "" if each.low is None or each.high is None else f"{each.low:.2f} to {each.high:.2f}"
        shown.add_row(each.score, each.data, f"{each.texts:,}", each.measure, f"{each.value:.3f}", between, each.goal)
    return shown


def main() -> None:
    found = list(figures())
    console = Console()
    console.width = max(console.width, 160)
    console.print(table(found))
    if "--write" in sys.argv:
        KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
        console.print(f"wrote {KEPT.name}: `make docs` puts it on the page")


if __name__ == "__main__":
    main()
