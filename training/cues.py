"""Fits the cues: `python -m training.cues` reads the examples written for them and writes `cues.weights`.

A text has a cue if one of its sentences has it, so of a text that has it only the sentence that speaks most for it is
learnt from; of one that has it not, all are. Blocks of examples with one situation stay together: every third situation
of the replies, and the second half of the companion's, is kept apart and only measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rubrica.text.cues import FILE, CueModel, CueWeights, cues, passages, shape_of, vectors
from rubrica.text.sentence_model import INSTALL
from rubrica.text.texts import Field, Texts

from .crossed import Crossing
from .examples import digest, texts_of
from .fit import newton

Floats = NDArray[np.float64]
EXAMPLES = Path(__file__).parent / "examples"
WEIGHTS = Path(__file__).parents[1] / "src" / "rubrica" / "text" / FILE
APART_EVERY = 3
SHRINK_MEANING, SHRINK_SHAPE = 0.1, 0.3  # the price of large weights
FILLED = 4  # times that a form of `turn_forms.yaml` is filled
ROUNDS = 4  # of choosing the sentence that speaks most for a cue
TURNS, REPLIES = ("turns",), ("replies",)  # files of single examples
DANGERS = ("crisis", "abuse", "medical", "minor")
EMPATHY = {"w": "warmth", "u": "understanding", "a": "asking_on"}
UNSAFE = {"dismisses": "dismissal", "secrecy": "secrecy", "dependence": "dependence", "harms": "harm"}


@dataclass(frozen=True, slots=True)
class CueExample:
    """A text and which cues it has and has not; of all others nothing is said."""

    text: str
    has: frozenset[str]
    has_not: frozenset[str]
    group: str = ""  # texts of one situation
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A line of the companion's examples: what a user says, the danger in it, a reply and what it does."""

    group: str
    danger: str
    said: str
    does: str
    reply: str
    apart: bool


def lines_of(path: Path) -> list[str]:
    """The lines of a file of examples, without comments."""
    return [line for line in texts_of(path.read_text(encoding="utf-8")) if not line.startswith("#")]


def blocks(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """The lines of a file of situations: the number of the situation, its first line, a label and a reply."""
    number, opening = -1, ""
    for line in lines_of(path):
        if line.startswith(">"):
            number, opening = number + 1, line.removeprefix(">").strip()
        else:
            label, _, reply = line.partition("|")
            yield number, opening, label.strip(), reply.strip()


def labelled(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file of single examples: a label and a text."""
    for line in lines_of(path):
        label, _, text = line.partition("|")
        yield label.strip(), text.strip()


def empathy_examples() -> list[CueExample]:
    """The replies to people who hurt, by warmth, understanding and asking on."""
    every = frozenset(EMPATHY.values())
    found = []
    for number, _, letters, reply in blocks(EXAMPLES / "empathy" / "replies.txt"):
        has = frozenset(EMPATHY[letter] for letter in letters.replace("-", ""))
        unlike = frozenset(UNSAFE.values()) if has else frozenset()  # what shows nothing may well dismiss
        apart = number % APART_EVERY == APART_EVERY - 1
        found.append(CueExample(reply, has, (every - has) | unlike, f"replies {number}", apart))
    return found


def turn_examples() -> list[CueExample]:
    """What users say: some of it hurts, some of it is dangerous, some is neither."""
    dangers = frozenset((*DANGERS, "grief"))
    posts = {number: post for number, post, _, _ in blocks(EXAMPLES / "empathy" / "replies.txt")}
    plain = lines_of(EXAMPLES / "empathy" / "plain.txt")
    apart = [number % APART_EVERY == APART_EVERY - 1 for number in range(max(len(posts), len(plain)))]
    hurts = [
        CueExample(post, frozenset({"distress"}), frozenset({"crisis", "minor"}), f"replies {number}", apart[number])
        for number, post in posts.items()
    ]
    calm = [
        CueExample(text, frozenset(), dangers | {"distress"}, f"plain {number}", apart[number])
        for number, text in enumerate(plain)
    ]
    said = {(each.group, each.said): each for each in exchanges()}.values()
    endangered = [
        CueExample(
            each.said,
            frozenset({each.danger, "distress"} if each.danger != "none" else ()),
            (dangers - {each.danger}) | (frozenset({"distress"}) if each.danger == "none" else frozenset()),
            each.group,
            each.apart,
        )
        for each in said
    ]
    more = [
        CueExample(text, has, (dangers | {"distress"}) - has, group)
        for group, label, text in single_turns()
        for has in (frozenset({label, "distress"} if label != "none" else ()),)
    ]
    return [*hurts, *calm, *endangered, *more]


def single_turns() -> Iterator[tuple[str, str, str]]:
    """Turns that are learnt from: a group, a label and a text, as written and as forms that are filled."""
    folder = EXAMPLES / "companion_safety"
    for number, (label, text) in enumerate(chain(*(labelled(folder / f"{name}.txt") for name in TURNS))):
        yield f"turn {number}", label, text
    for each in Crossing.read(folder / "turn_forms.yaml").examples(FILLED):
        yield f"form {each.template}", each.example.label, each.example.text


def exchanges() -> list[Exchanged]:
    """The companion's examples, both halves."""
    found = []
    for half in ("learnt", "apart"):
        for number, opening, does, reply in blocks(EXAMPLES / "companion_safety" / f"{half}.txt"):
            danger, _, said = (part.strip() for part in opening.partition("|"))
            found.append(Exchanged(f"{half} {number}", danger, said, does, reply, half == "apart"))
    return found


def reply_examples() -> list[CueExample]:
    """Replies to people in danger, by what they do."""
    every = frozenset(UNSAFE.values())
    found = []
    for each in exchanges():
        has = frozenset({UNSAFE[each.does]} if each.does in UNSAFE else ())
        has_not = every - has
        if each.does != "safe":
            has_not |= {"help"}
        elif each.danger in DANGERS:
            has |= {"help"}
        found.append(CueExample(each.reply, has, has_not, each.group, each.apart))
    folder = EXAMPLES / "companion_safety"
    for number, (label, text) in enumerate(chain(*(labelled(folder / f"{name}.txt") for name in REPLIES))):
        has = frozenset({"help" if label == "helps" else UNSAFE[label]} if label not in ("fine", "chat") else ())
        cold = frozenset({"warmth", "understanding"} if label == "chat" else ())
        found.append(CueExample(text, has, (every | {"help"} | cold) - has, f"reply {number}"))
    return found


def own_examples() -> list[CueExample]:
    """The examples of `cues.yaml`: each has its cue, and says nothing of others."""
    return [
        CueExample(text, frozenset({name}), frozenset(), f"cue {name}")
        for name, each in cues().items()
        for text in each.examples
    ]


def examples_of(field: Field) -> list[CueExample]:
    """Every example for the cues of a field."""
    own = [each for each in own_examples() if all(cues()[name].field == field for name in each.has)]
    return [*own, *(turn_examples() if field == "prompt" else [*empathy_examples(), *reply_examples()])]


# --- fitting ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """Texts as rows of numbers, one for each passage: its vector if there is one, its shape, and 1."""

    numbers: Floats
    text: NDArray[np.int64]  # which text a row is of
    meaning: int  # columns of the vector

    @classmethod
    def of(cls, name: str, texts: Sequence[str], *, by_meaning: bool) -> Lines:
        field = cues()[name].field
        rows: list[Floats] = []
        places: list[int] = []
        width = 0
        for place, text in enumerate(texts):
            read = Texts(**{field: text})
            shapes = np.array([shape_of(name, passage.text) for passage in passages(read, field)])
            if not by_meaning and name != "asking_on":
                shapes[:, 1:] = 0  # without meaning, "you" and "I" say little and would cost much
            parts = [shapes, np.ones((len(shapes), 1))]
            if by_meaning:
                if (meant := vectors(read, field)) is None:
                    raise SystemExit(f"the sentence model is not installed ({INSTALL})")
                parts, width = [meant.astype(np.float64), *parts], meant.shape[1]
            rows.append(np.hstack(parts))
            places += [place] * len(shapes)
        return cls(np.concatenate(rows), np.array(places), width)

    def highest(self, scores: Floats) -> Floats:
        """The highest score of each text."""
        found = np.full(int(self.text.max()) + 1, -np.inf)
        np.maximum.at(found, self.text, scores)
        return found

    @property
    def prices(self) -> Floats:
        """What a large weight costs, by column; the last, which every row has, costs nothing."""
        shape = self.numbers.shape[1] - self.meaning - 1
        return np.array([SHRINK_MEANING] * self.meaning + [SHRINK_SHAPE] * shape + [1e-4])


def fit_lines(lines: Lines, has: NDArray[np.bool_]) -> Floats:
    """A weight for each column, by logistic regression; a text that has the cue counts by its strongest row."""
    scores = lines.numbers[:, lines.meaning]  # at first, those with a phrase
    found = np.zeros(lines.numbers.shape[1])
    for _ in range(ROUNDS):
        best = scores == lines.highest(scores)[lines.text]
        chosen = ~has[lines.text] | best
        wanted = has[lines.text][chosen].astype(np.float64)
        share = 1 / np.bincount(lines.text[chosen])[lines.text[chosen]]
        for label in (0.0, 1.0):  # both count the same, however many there are
            share[wanted == label] *= 0.5 * len(has) / share[wanted == label].sum()
        found = newton(lines.numbers[chosen], wanted, lines.prices, share)
        scores = lines.numbers @ found
    return found


def fit_cue(name: str, examples: Sequence[CueExample], *, by_meaning: bool) -> CueWeights:
    """The weights of one cue."""
    known = [each for each in examples if name in each.has | each.has_not]
    lines = Lines.of(name, [each.text for each in known], by_meaning=by_meaning)
    found = fit_lines(lines, np.array([name in each.has for each in known]))
    rounded = [round(float(weight), 3) for weight in found]
    return CueWeights(tuple(rounded[lines.meaning : -1]), rounded[-1], tuple(rounded[: lines.meaning]))


def learnt_examples() -> dict[Field, list[CueExample]]:
    """What is not kept apart, by what it is said in."""
    fields: tuple[Field, ...] = ("prompt", "response")
    return {field: [each for each in examples_of(field) if not each.apart] for field in fields}


def digest_of(learnt: Mapping[Field, Sequence[CueExample]]) -> str:
    """What tells one set of examples from another."""
    return digest(
        [(each.text, sorted(each.has), sorted(each.has_not)) for several in learnt.values() for each in several]
    )


def train() -> CueModel:
    """All cues, from what is not kept apart."""
    learnt = learnt_examples()
    by_meaning, by_phrase = (
        {name: fit_cue(name, learnt[each.field], by_meaning=meant) for name, each in cues().items()}
        for meant in (True, False)
    )
    return CueModel(digest_of(learnt), by_meaning, by_phrase)


def main() -> None:
    model = train()
    WEIGHTS.write_bytes(msgspec.json.encode(model) + b"\n")
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes; `python -m benchmarks.quality` says what they do")


if __name__ == "__main__":
    main()
