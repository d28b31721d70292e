"""What the offline reading of questions is worth: whether a question fits its skill, and the classes of issues.

`python -m benchmarks.education` prints it, with ``--learnt`` on the two thirds that limits were looked at on. A fitting
pair should not be rejected (relevance below 4), and a pair with a skill of another domain should be noticed (below 7,
or not scored): it is then not accepted.

The public sets say no skill, so word problems are paired by what they ask for: sums of SVAMP by their operation with
standards on word problems of that operation, questions of AQuA by plain words of their stem with standards on the same.
Those that no such word places are left out. A skill of another domain is drawn from domains that do not practise the
same. A third of the questions, by their opening words, and a third of the standards are kept apart.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import rubrica
from rubrica.education.taxonomy import classify
from rubrica.packs.validity import Figure

from .figures import measured, share_of
from .safety import data

OWN = Path(__file__).parent / "sets"
OWN_TITLE = "questions with two skills of our own, written apart"
PUBLIC_TITLE = "word problems (SVAMP, AQuA) with standards, kept apart"
RELEVANCE = "education-question/query_relevance"
SUMS_TAKEN = 0.35  # of SVAMP, so that its thousand does not drown the rest
_OPERATIONS = {"Addition": "sum", "Subtraction": "sum"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a word problem asks for: words that show it, standards that fit, and domains that overlap with it."""

    shows: str
    fitting: tuple[str, ...]
    near: frozenset[str]


KINDS: Mapping[str, Asked] = {
    "sum": Asked("", ("K.OA.A.2", "1.OA.A.1", "2.OA.A.1", "3.OA.D.8", "4.OA.A.3"),
                 frozenset({"OA", "NBT", "CC", "MD", "NS", "EE"})),
    "groups": Asked("", ("3.OA.A.3", "4.OA.A.2", "3.OA.D.8", "4.OA.A.3"),
                    frozenset({"OA", "NBT", "MD", "RP", "NS", "EE"})),
    "chance": Asked(r"probabilit|\bchance\b|how likely", ("7.SP.C.5", "7.SP.C.7", "7.SP.C.8"),
                    frozenset({"SP", "RP", "NF", "EE", "MD", "NS"})),
    "average": Asked(r"\baverage\b(?! speed)|arithmetic mean|\bmedian\b", ("6.SP.B.5c", "6.SP.A.3"),
                     frozenset({"SP", "RP", "NF", "EE", "MD", "NS", "OA"})),
    "figure": Asked(r"triangle|circle|rectang|\barea\b|volume|cylinder|\bcube\b|diagonal|perimeter|radius",
                    ("6.G.A.1", "7.G.B.4", "7.G.B.6", "4.MD.A.3", "5.MD.C.5"), frozenset({"G", "MD", "EE"})),
    "ratio": Asked(r"%|percent|ratio|kmph|mph|per hour|speed|miles per|m/s|interest|proportion|discount",
                   ("6.RP.A.3", "6.RP.A.3b", "6.RP.A.3c", "7.RP.A.3", "7.RP.A.2"),
                   frozenset({"RP", "NS", "EE", "NF", "OA", "F"})),
    "unknown": Asked(r"\bx\b|\by\b|equation|a number|certain number|twice",
                     ("7.EE.B.3", "7.EE.B.4", "6.EE.B.7", "8.EE.C.7"),
                     frozenset({"EE", "NS", "OA", "F", "RP", "NBT"})),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SkillPair:
    """A question with a skill that it practises, and one of another domain."""

    group: str
    question: str
    options: tuple[str, ...]
    skill: str
    other: str


def own_pairs() -> list[SkillPair]:
    rows = [json.loads(line) for line in (OWN / "question_skills.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        SkillPair(row["id"], row["question"], tuple(row.get("options", ())), row["skill"], row["other"]) for row in rows
    ]


def public_pairs(*, apart: bool) -> list[SkillPair]:
    """Word problems with standards: those that are kept apart, or the others."""
    skills = {row["id"]: html.unescape(row["statement"]) for row in _rows("ccss_math")}
    chance, found = random.Random(1), []  # noqa: S311 - the same pairs every time
    for kind, group, question in _word_problems(chance):
        if _is_apart(group) is apart:
            asked = KINDS[kind]
            domains = {name: name.split(".")[1] for name in skills}
            others = [
                name
                for name, domain in domains.items()
                if domain not in asked.near and _is_apart(f"sk{domain}{name}") is apart
            ]
            fitting, other = chance.choice(asked.fitting), chance.choice(others)
            found.append(SkillPair(group, question, (), skills[fitting], skills[other]))
    return found


def _word_problems(chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """Kind, group and text of each that can be placed."""
    for row in _rows("svamp"):
        if chance.random() < SUMS_TAKEN:
            text = f"{row['body'].strip().rstrip('.')}. {row['question']}"
            yield _OPERATIONS.get(row["type"], "groups"), row["body"][:25], text
    for row in _rows("mcq_math"):
        text = row["question"]
        kind = next((name for name, asked in KINDS.items() if asked.shows and re.search(asked.shows, text, re.I)), None)
        if kind is not None:
            yield kind, row["id"], text


def relevance(question: str, skill: str, options: Sequence[str] = ()) -> float | None:
    """The offline score of a question's relevance to a skill; None where it has none."""
    written = {"question": question, "options": list(options)} if options else {"question": question}
    found = rubrica.evaluate("education-question", prompt=skill, response=json.dumps(written, ensure_ascii=False))
    return found.dimensions["query_relevance"].value


def relevance_figures(title: str, pairs: Sequence[SkillPair]) -> Iterator[Figure]:
    """What becomes of fitting pairs and of others."""
    groups = [pair.group for pair in pairs]
    fits = [relevance(pair.question, pair.skill, pair.options) for pair in pairs]
    others = [relevance(pair.question, pair.other, pair.options) for pair in pairs]
    for measure, goal, holds in (
        ("fitting skill rejected", "≤ 0.02", [score is not None and score < 4 for score in fits]),
        ("fitting skill found fitting", "", [score is not None and score >= 7 for score in fits]),
        ("skill of another domain noticed", "≥ 0.80", [score is None or score < 7 for score in others]),
        ("skill of another domain rejected", "", [score is not None and score < 4 for score in others]),
    ):
        yield measured(Figure(RELEVANCE, title, 0, measure, 0.0, goal=goal), groups, share_of(holds))


def issue_figures() -> Iterator[Figure]:
    """How many issues get their class, by their words alone."""
    rows = [json.loads(line) for line in (OWN / "question_issues.jsonl").read_text(encoding="utf-8").splitlines()]
    right = [classify(row["issue"]) == row["class"] for row in rows]
    about = Figure("classifiers/issue_class", "texts of our own, written apart", 0, "right", 0.0, goal="≥ 0.85")
    yield measured(about, range(len(rows)), share_of(right))


def figures() -> Iterator[Figure]:
    """The figures for the cards of scores."""
    yield from relevance_figures(OWN_TITLE, own_pairs())
    yield from relevance_figures(PUBLIC_TITLE, public_pairs(apart=True))
    yield from issue_figures()


def _is_apart(name: str) -> bool:
    return int(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(), 16) % 3 == 0


def _rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(data() / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main() -> None:
    learnt = "--learnt" in sys.argv
    found = [*relevance_figures("pairs not kept apart", public_pairs(apart=False))] if learnt else [*figures()]
    table = Table("score", "data", "texts", "measure", "value", "95 %", "goal", title="Questions, without a judge")
    for each in found:
        between = f"{each.low:.3f} to {each.high:.3f}"
        table.add_row(each.score, each.data, f"{each.texts:,}", each.measure, f"{each.value:.3f}", between, each.goal)
    console = Console()
    console.width = max(console.width, 160)
    console.print(table)


if __name__ == "__main__":
    main()
