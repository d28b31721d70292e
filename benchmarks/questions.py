"""What the checks of questions find in copies of real ones with one fault each: ``python -m benchmarks.questions``.

The questions are not part of the project: they are looked for in ``$RUBRICA_DATA``, else in ``../shared/data``.
Without them nothing is measured but questions of our own: the 120 of ``sets/question_checks.jsonl``, half of them
with one fault each, and the 83 of ``sets/question_styles.jsonl``: sound ones with five options, explained in many
ways, which only measure. They were written before the checks were read, and totals alone were looked at when these
were mended. A third of the real ones, and of ours, is *apart*: nothing was written with it in view. Some of the
originals have a wrong key or a wrong calculation of their own: those that are rejected are listed with the reason, to
be read by hand.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from training.maths_grade import HELD_OUT, measured, read_graded

from rubrica.text import FEATURES
from rubrica.text.maths.solution import find_steps, wrong_steps
from rubrica.text.questions.maths_grade import grade_model
from rubrica.text.texts import Texts

from .floor import Ratio

CHOICES, STORIES = "mcq_math.jsonl.gz", "gsm8k_train_sample.jsonl.gz"
REJECTING = (
    "mcq_answer_unmapped", "mcq_key_absent", "mcq_key_duplicated", "mcq_key_mismatch", "mcq_key_unreached",
    "mcq_key_miscalculated", "answer_mismatch", "impossible_pattern",
)  # fmt: skip
MENDABLE = (
    "mcq_duplicate_options", "mcq_empty_options", "mcq_answer_missing", "answer_malformed", "question_wrong_equations",
)  # fmt: skip
OWN = Path(__file__).parent / "sets" / "question_checks.jsonl"
STYLES = Path(__file__).parent / "sets" / "question_styles.jsonl"
LETTERS = "ABCDE"
MOST_RENUMBERED = 4  # copies of one question with a number of its explanation changed
STRUCTURE = ("letter out of range", "key removed", "key removed, answer as text", "key duplicated")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?")
_MARK = re.compile(r"<<[^<>]*=([\d.]+)>>([\d.]*)")

Row = Mapping[str, Any]


def checked() -> list[Ratio]:
    """The rows for `make bench`."""
    choices, stories = _rows(CHOICES), _rows(STORIES)
    own = told_faults()
    faulty, sound = [told for fault, told in own if fault], [told for fault, told in own if not fault]
    ours = f"{len(own)} of ours, kept apart"
    found = [
        Ratio("planted faults of questions told", "all of them", sum(faulty) / len(faulty), 0.85, ours),
        Ratio("sound questions left alone", "all of them", 1 - sum(sound) / len(sound), 0.95, ours),
    ]
    if choices is not None:
        tried, caught = mutated(choices)
        shares = {kind: caught[kind] / tried[kind] for kind in tried}
        records = f"{len(choices)} records"
        found += [
            Ratio("faults of structure found", "all of them", min(shares[kind] for kind in STRUCTURE), 1.0, records),
            Ratio("wrong keys found", "all of them", shares["wrong key"], 0.95, records),
            Ratio("wrong values of the key found", "all of them", shares["wrong value"], 0.95, records),
            Ratio("questions not rejected as they are", "all of them", 1 - shares["as it is"], 0.97, records),
        ]
    grades = measured(grade_model(), read_graded(HELD_OUT))
    apart = "questions of training/examples that were kept apart"
    found += [
        Ratio("grades of maths questions, in rank", "the grades they are for", grades["rank correlation"], 0.8, apart),
        Ratio("grades of maths questions, within one", "all of them", grades["within one grade"], 0.8, apart),
        Ratio("grades of maths questions, within the bounds", "all of them", grades["within the bounds"], 0.85, apart),
    ]
    if stories is not None:
        told = list(choices_of(stories))
        tried, caught = mutated(told)
        shares = {kind: caught[kind] / tried[kind] for kind in tried}
        records = f"{len(told)} questions made of worked answers, no letter named"
        found += [
            Ratio("wrong keys found, answers in words", "all of them", shares["wrong key"], 0.98, records),
            Ratio("wrong values found, answers in words", "all of them", shares["wrong value"], 0.96, records),
            Ratio("not rejected as they are, answers in words", "all of them", 1 - shares["as it is"], 0.99, records),
        ]
        alarms = sum(bool(wrong_steps(Texts(row["question"], row["answer"]))) for row in stories)
        tried, caught = miscalculated(stories)
        spoilt = f"of {sum(tried.values()):,} spoilt results {sum(caught.values()) / sum(tried.values()):.3f} are found"
        found.append(Ratio("worked answers without an alarm", "all of them", 1 - alarms / len(stories), 0.99, spoilt))
    return found


def mutated(rows: list[Row]) -> tuple[Counter[str], Counter[str]]:
    """How many copies there are of each kind, and how many of them would be rejected."""
    tried: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    for row in rows:
        for kind, question in copies(row, random.Random(row["id"])):  # noqa: S311 - a choice of faults, not a secret
            tried[kind] += 1
            caught[kind] += bool(rejected(question))
    return tried, caught


def rejected(question: Row, names: tuple[str, ...] = REJECTING) -> list[str]:
    """The checks that reject a question."""
    texts = Texts(response=json.dumps(question, ensure_ascii=False))
    return [name for name in names if FEATURES[name].compute(texts)]


def told_faults(*, apart: bool = True) -> list[tuple[str, bool]]:
    """Questions of our own: the fault that was planted, if any, and whether a check tells of one."""
    rows = [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]
    chosen = [row for row in rows if row.get("apart", False) is apart]
    return [(row["fault"] or "", bool(rejected(row["record"], (*REJECTING, *MENDABLE)))) for row in chosen]


def styled_questions() -> list[Row]:
    """Our own questions that are explained in many ways, which only measure."""
    return [json.loads(line) for line in STYLES.read_text(encoding="utf-8").splitlines()]


def is_apart(row: Row) -> bool:
    """Whether a question belongs to the third that nothing was written with in view."""
    return int.from_bytes(hashlib.sha256(f"third{row['id']}".encode()).digest()[:4], "big") % 3 == 0


def copies(row: Row, rng: random.Random) -> Iterator[tuple[str, Row]]:
    """A question as it is, and copies of it with one fault each."""
    right = row["correct"]
    place, options = LETTERS.index(right), list(row["options"])
    text = options[place][2:]
    plain = {"question": row["question"], "options": options, "answer": right, "explanation": row["rationale"]}
    yield "as it is", plain
    yield "letter out of range", plain | {"answer": rng.choice("FGHKZ")}
    others = [option for option in options if option[0] != right]
    yield "key removed", plain | {"options": others}
    yield "key removed, answer as text", plain | {"options": others, "answer": text}
    other = rng.choice([each for each in range(len(options)) if each != place])
    yield "key duplicated", plain | {"options": _with(options, other, text)}
    yield from (("wrong key", plain | {"answer": letter}) for letter in LETTERS[: len(options)] if letter != right)
    for _ in range(4 if _NUMBER.search(text) else 0):  # a key without a number has no value to be wrong
        value = spoilt(text, rng)
        if value not in {option[2:] for option in options}:
            yield "wrong value", plain | {"options": _with(options, place, value)}
    first = _NUMBER.search(text)
    ends = list(re.finditer(rf"(?<![\d.]){re.escape(first[0])}(?!\d|\.\d)", row["rationale"])) if first else []
    if ends:
        last = ends[-1].span()
        changed = row["rationale"][: last[0]] + spoilt(ends[-1][0], rng) + row["rationale"][last[1] :]
        yield "wrong value at the explanation's end", plain | {"explanation": changed}


def renumbered(rows: list[Row]) -> tuple[int, int]:
    """How many copies with one number of the explanation changed there are of questions that no check tells of, up to
    four of each, and of how many copies one tells."""
    told = (*REJECTING, *MENDABLE)
    tried = caught = 0
    for row in rows:
        plain = {"question": row["question"], "options": row["options"], "answer": row["correct"]}
        text, rng = row["rationale"], random.Random(row["id"])  # noqa: S311 - as above
        places = list(_NUMBER.finditer(text))
        if not places or rejected({**plain, "explanation": text}, told):
            continue
        for place in rng.sample(places, min(MOST_RENUMBERED, len(places))):
            changed = text[: place.start()] + spoilt(place[0], rng) + text[place.end() :]
            tried += 1
            caught += bool(rejected({**plain, "explanation": changed}, told))
    return tried, caught


def choices_of(stories: list[Row]) -> Iterator[Row]:
    """Worked answers with a whole number as their result, as questions with five options."""
    for row in stories:
        answer, _, written = row["answer"].rpartition("####")
        result = written.strip().replace(",", "")
        if result.isdecimal():
            rng, value = random.Random(row["id"]), int(result)  # noqa: S311 - as above
            near = {1, 2, 5, 10, max(1, value // 10), max(1, value // 4), max(1, value)}
            others = sorted({value + sign * gap for gap in near for sign in (-1, 1)} - {value})
            options = [value, *rng.sample([other for other in others if other >= 0], 4)]
            rng.shuffle(options)
            yield {
                "id": row["id"],
                "question": row["question"],
                "options": [f"{letter}){option}" for letter, option in zip(LETTERS, options, strict=True)],
                "rationale": re.sub(r"<<[^<>]*>>", "", answer).strip(),
                "correct": LETTERS[options.index(value)],
            }


def miscalculated(rows: list[Row]) -> tuple[Counter[str], Counter[str]]:
    """Worked answers with one result changed, and those of them where a wrong step is found."""
    tried: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    for row in rows:
        rng, answer = random.Random(row["id"]), row["answer"]  # noqa: S311 - as above
        marks = list(_MARK.finditer(answer))
        if marks:
            mark = rng.choice(marks)
            value = spoilt(mark[1], rng)
            inside = answer[: mark.start(1)] + value + answer[mark.end(1) :]
            both = answer[: mark.start(1)] + value + ">>" + value + answer[mark.end() :]
            for kind, text in (("in the notation", inside), ("in notation and words", both)):
                tried[kind] += 1
                caught[kind] += bool(wrong_steps(Texts(response=text)))
        words = re.sub(r"<<[^<>]*>>", "", answer)
        steps = find_steps(words)
        if steps:
            step = rng.choice(steps)
            text = words[: step.end - len(step.right)] + spoilt(step.right, rng) + words[step.end :]
            tried["in words"] += 1
            caught["in words"] += bool(wrong_steps(Texts(response=text)))
    return tried, caught


def spoilt(text: str, rng: random.Random) -> str:
    """The text with one of its numbers changed: by 1, by 2, or by a part of itself."""
    chosen = rng.choice(list(_NUMBER.finditer(text)))
    value = chosen[0].replace(",", "")
    places = len(value.partition(".")[2])
    sizes = (1.0, 2.0, 0.5) if places else (1.0, 2.0, float(max(1, int(value) // rng.choice((3, 5, 10, 20)))))
    new = float(value) + rng.choice((-1, 1)) * rng.choice(sizes)
    new = new if new >= 0 else float(value) + 1
    return text[: chosen.start()] + f"{new:.{places}f}" + text[chosen.end() :]


def _with(options: list[str], place: int, text: str) -> list[str]:
    return [f"{option[:2]}{text}" if each == place else option for each, option in enumerate(options)]


def _rows(name: str) -> list[Row] | None:
    path = Path(os.environ.get("RUBRICA_DATA") or Path(__file__).parents[2] / "shared" / "data") / name
    if not path.exists():
        print(f"questions: skipped, {path.name} is not here (set RUBRICA_DATA to its folder)")
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main() -> None:
    console = Console()
    choices, stories = _rows(CHOICES), _rows(STORIES)
    table = Table("fault", "copies", "rejected", "share", title="Questions with one fault each")
    if choices is not None:
        tried, caught = mutated(choices)
        for kind, number in tried.items():
            table.add_row(kind, f"{number:,}", f"{caught[kind]:,}", f"{caught[kind] / number:.3f}")
        tried, caught = mutated([row for row in choices if is_apart(row)])
        for kind in ("as it is", "wrong key", "wrong value"):
            shown = (f"{tried[kind]:,}", f"{caught[kind]:,}", f"{caught[kind] / tried[kind]:.3f}")
            table.add_row(f"third apart: {kind}", *shown)
        for name, rows in (("", choices), ("third apart: ", [row for row in choices if is_apart(row)])):
            copied, found = renumbered(rows)
            table.add_row(f"{name}any number of the explanation", f"{copied:,}", f"{found:,}", f"{found / copied:.3f}")
    if stories is not None:
        tried, caught = miscalculated(stories)
        for kind, number in tried.items():
            table.add_row(f"result {kind}", f"{number:,}", f"{caught[kind]:,}", f"{caught[kind] / number:.3f}")
        tried, caught = mutated(list(choices_of(stories)))
        for kind in ("as it is", "wrong key", "wrong value"):
            shown = (f"{tried[kind]:,}", f"{caught[kind]:,}", f"{caught[kind] / tried[kind]:.3f}")
            table.add_row(f"answers in words: {kind}", *shown)
        copied, found = renumbered(list(choices_of(stories)))
        shown = (f"{copied:,}", f"{found:,}", f"{found / copied:.3f}")
        table.add_row("answers in words: any number of the explanation", *shown)
    styled = styled_questions()
    tried, caught = mutated(styled)
    copied, found = renumbered(styled)
    told = sum(bool(rejected(next(copies(row, random.Random(0)))[1], (*REJECTING, *MENDABLE))) for row in styled)  # noqa: S311
    counts = {kind: (tried[kind], caught[kind]) for kind in ("as it is", "wrong key", "wrong value")}
    counts |= {"as it is, told of a fault": (len(styled), told), "any number of the explanation": (copied, found)}
    for kind, (number, hits) in counts.items():
        table.add_row(f"ours, many styles: {kind}", f"{number:,}", f"{hits:,}", f"{hits / number:.3f}")
    for apart in (False, True):
        own = told_faults(apart=apart)
        for kind in sorted({fault for fault, _ in own}):
            tells = [told for fault, told in own if fault == kind]
            counted = (f"{len(tells)}", f"{sum(tells)}", f"{sum(tells) / len(tells):.3f}")
            table.add_row(f"ours{', apart' * apart}: {kind or 'sound'}", *counted)
    console.print(table)
    for name, share in measured(grade_model(), read_graded(HELD_OUT)).items():
        console.print(f"grades of maths questions that were kept apart: {share:.3f} {name}")
    for row in choices or ():
        _, plain = next(copies(row, random.Random(0)))  # noqa: S311 - nothing is drawn
        if reasons := rejected(plain):
            console.print(f"{row['id']} as it is: {', '.join(reasons)}")
    for row in stories or ():
        for step in wrong_steps(Texts(row["question"], row["answer"])):
            console.print(f"{row['id']} as it is: {step.text}")


if __name__ == "__main__":
    main()
