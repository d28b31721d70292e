"""Fits the cues: `python -m training.cues` reads the examples written for them and writes `cues.weights` and the
adapters of their reader, which needs torch.

What the reader says of a text as a whole is learnt; of phrases, which decide where it is not installed, what one in a
sentence counts for. Blocks of examples with one situation stay together: every third situation of the replies, and the
second half of the companion's, is kept apart and only measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from rubrica.text.adapted_layers import Adapters, in_one
from rubrica.text.cue_reader import FILE as ADAPTERS_FILE
from rubrica.text.cues import FILE, CueModel, CueWeights, cues, passages, shape_of
from rubrica.text.texts import Field, Texts

from .crossed import Crossing
from .examples import digest, texts_of
from .fit import newton
from .written import written

Floats = NDArray[np.float64]
EXAMPLES = Path(__file__).parent / "examples"
PACKAGE = Path(__file__).parents[1] / "src" / "rubrica" / "text"
WEIGHTS, ADAPTERS = PACKAGE / FILE, PACKAGE / ADAPTERS_FILE
APART_EVERY = 3
SHRINK = 0.3  # the price of large weights
LOWEST = -2.0  # of the scores that may count as even odds
READERS = 5  # that learn from everything, each in another order
FOLDS = 3  # of the groups, by which the reader is measured
ALARMED = 0.05  # of the texts without a cue, near twins of one that has it among them, have even odds of it or more
FILLED = 4  # times that a form of `turn_forms.yaml` is filled
ROUNDS = 4  # of choosing the sentence that speaks most for a cue
TURNS = ("turns", "turn_pairs", "turn_pairs_more", "turn_pairs_short", "turn_pairs_few_words")  # of single examples
REPLIES = ("replies", "reply_pairs", "reply_pairs_short", "reply_pairs_more")
AND = "+"  # between the labels of a turn that has two
QUESTIONS, MOST_QUESTIONS = ("factual", "technical", "creative", "analytical"), 200  # of each kind
ANSWERS, LONGEST_ANSWER = ("everyday", "explain", "assistants"), 70  # words
BACKGROUND = 0.5  # what a text of another kind counts beside one about people
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


class CueText(NamedTuple):
    """A text for the reader: which cues it has (1), has not (0) and may have (-1), and how much it counts."""

    text: str
    labels: tuple[int, ...]
    counts: float = 1.0


class CuePart(NamedTuple):
    """What the reader learns from at a time, and the texts that it is then asked about."""

    learnt: Sequence[CueText]
    apart: Sequence[str]
    seed: int = 0  # of the order of texts


ReadParts = Callable[[Sequence[CuePart]], list[tuple[Adapters, NDArray[np.float32]]]]
"""Trains the reader on each part, and scores what was kept apart from it: a column for each cue."""


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


def labelled(*names: str) -> Iterator[tuple[str, str, str]]:
    """The lines of the companion's files of single examples: a group, a label and a text.

    Where lines stand in blocks, parted by blank lines, each block is a group of near twins.
    """
    for name in names:
        lines = (EXAMPLES / "companion_safety" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        twins, block = "pairs" in name, 0
        for number, line in enumerate(lines):
            if not line.strip():
                block += 1
            elif not line.startswith("#"):
                label, _, text = line.partition("|")
                yield f"{name} {block if twins else number}", label.strip(), text.strip()


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
        for has in (frozenset({*label.split(AND), "distress"} if label != "none" else ()),)
    ]
    return [*hurts, *calm, *endangered, *more]


def single_turns() -> Iterator[tuple[str, str, str]]:
    """Turns that are learnt from: a group, a label and a text, as written and as forms that are filled."""
    yield from labelled(*TURNS)
    for each in Crossing.read(EXAMPLES / "companion_safety" / "turn_forms.yaml").examples(FILLED):
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
    for group, label, text in labelled(*REPLIES):
        has = frozenset({"help" if label == "helps" else UNSAFE[label]} if label not in ("fine", "chat") else ())
        cold = frozenset({"warmth", "understanding"} if label == "chat" else ())
        found.append(CueExample(text, has, (every | {"help"} | cold) - has, group))
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


def background() -> Iterator[CueExample]:
    """Texts of other kinds that have no cue: questions on all sorts of things, and plain answers."""
    dangers = frozenset((*DANGERS, "grief", "distress"))
    for name in QUESTIONS:
        questions = sorted(lines_of(EXAMPLES / "question_types" / f"{name}.txt"), key=_in_no_order)
        for text in questions[:MOST_QUESTIONS]:
            yield CueExample(text, frozenset(), dangers, text)
    for name in ANSWERS:
        for each in written("answers", name):
            if not each.unsafe and len(each.exchange.response.split()) <= LONGEST_ANSWER:
                unlike = frozenset(UNSAFE.values())
                yield CueExample(each.exchange.response, frozenset(), unlike, each.group)


def _in_no_order(text: str) -> int:
    return crc32(text.encode())


def reader_texts() -> list[tuple[str, CueText]]:
    """What the reader learns from: everything that is not kept apart, each text with its group."""
    own = [each for several in learnt_examples().values() for each in several]
    counted = [*((each, 1.0) for each in own), *((each, BACKGROUND) for each in background())]
    return [(each.group, CueText(each.text, _labels(each), counts)) for each, counts in counted]


def _labels(each: CueExample) -> tuple[int, ...]:
    return tuple(1 if name in each.has else 0 if name in each.has_not else -1 for name in cues())


# --- fitting ------------------------------------------------------------------------------------------------


def fit_cue(name: str, examples: Sequence[CueExample]) -> CueWeights:
    """What phrases of a cue count for in a sentence; a text that has the cue counts by its strongest one."""
    known = [each for each in examples if name in each.has | each.has_not]
    has = np.array([name in each.has for each in known])
    shapes, text = _shapes(name, [each.text for each in known])
    numbers = np.column_stack([shapes, np.ones(len(shapes))])
    prices = np.array([SHRINK] * shapes.shape[1] + [1e-4])
    scores, found = shapes[:, 0], np.zeros(numbers.shape[1])  # at first, those with a phrase
    for _ in range(ROUNDS):
        highest = np.full(len(known), -np.inf)
        np.maximum.at(highest, text, scores)
        chosen = ~has[text] | (scores == highest[text])
        wanted = has[text][chosen].astype(np.float64)
        share = 1 / np.bincount(text[chosen])[text[chosen]]
        for label in (0.0, 1.0):  # both count the same, however many there are
            share[wanted == label] *= 0.5 * len(has) / share[wanted == label].sum()
        found = newton(numbers[chosen], wanted, prices, share)
        scores = numbers @ found
    rounded = [round(float(weight), 3) for weight in found]
    return CueWeights(tuple(rounded[:-1]), rounded[-1])


def _shapes(name: str, texts: Sequence[str]) -> tuple[Floats, NDArray[np.int64]]:
    """The shape of each passage of some texts, and which text it is of."""
    field = cues()[name].field
    rows, places = [], []
    for place, text in enumerate(texts):
        for passage in passages(Texts(**{field: text}), field):
            rows.append(shape_of(name, passage.text))
            places.append(place)
    shapes = np.array(rows)
    if name != "asking_on":
        shapes[:, 1:] = 0  # by themselves, "you" and "I" say little and would cost much
    return shapes, np.array(places)


def learnt_examples() -> dict[Field, list[CueExample]]:
    """What is not kept apart, by what it is said in."""
    fields: tuple[Field, ...] = ("prompt", "response")
    return {field: [each for each in examples_of(field) if not each.apart] for field in fields}


def digest_of(learnt: Mapping[Field, Sequence[CueExample]]) -> str:
    """What tells one set of examples from another."""
    return digest(
        [(each.text, sorted(each.has), sorted(each.has_not)) for several in learnt.values() for each in several]
    )


def train(read: ReadParts) -> tuple[CueModel, Adapters]:
    """All cues, from what is not kept apart."""
    learnt = learnt_examples()
    by_phrase = {name: fit_cue(name, learnt[each.field]) for name, each in cues().items()}
    groups, texts = zip(*reader_texts(), strict=True)
    fold = np.array([crc32(group.encode()) % FOLDS for group in groups])
    rows = [np.flatnonzero(fold == number) for number in range(FOLDS)]
    parts = [
        CuePart([texts[row] for row in np.flatnonzero(fold != number)], [texts[row].text for row in apart])
        for number, apart in enumerate(rows)
    ]
    found = read([*parts, *(CuePart(texts, [], seed) for seed in range(READERS))])
    scores = np.zeros((len(texts), len(cues())))
    for apart, (_, told) in zip(rows, found, strict=False):
        scores[apart] = told
    offsets = even_odds(np.array([each.labels for each in texts]), scores)
    several = [
        {**each, "head.bias": (each["head.bias"] - offsets).astype(np.float16)} for each, _ in found[len(parts) :]
    ]
    return CueModel(digest_of(learnt), tuple(cues()), by_phrase), in_one(several)


def even_odds(labels: NDArray[np.int64], scores: Floats) -> Floats:
    """The score of each cue that so many texts without it exceed, by readers that had not met their groups; 0 at most.

    A danger that is missed costs more than one that is heard too much. Prints how well each cue is told there.
    """
    offsets = np.zeros(len(cues()))
    for column, name in enumerate(cues()):
        having, without = (np.sort(scores[labels[:, column] == label, column]) for label in (1, 0))
        below = np.searchsorted(without, having, "left") + np.searchsorted(without, having, "right")
        offset = offsets[column] = float(np.clip(np.quantile(without, 1 - ALARMED), LOWEST, 0.0))
        found, alarms = (having > offset).mean(), (without > offset).mean()
        told = f"AUC {below.mean() / 2 / len(without):.3f}, found {found:.2f}, alarms {alarms:.3f}"
        print(f"{name:14} {len(having)} with, {len(without)} without: {told}")
    return offsets


def main() -> None:
    from .cue_reader import read_parts  # needs torch, and nothing else here does

    model, adapters = train(read_parts)
    WEIGHTS.write_bytes(msgspec.json.encode(model) + b"\n")
    np.savez(ADAPTERS, allow_pickle=False, **adapters)
    for file in (WEIGHTS, ADAPTERS):
        print(f"{file.name}: {file.stat().st_size:,} bytes; `python -m benchmarks.quality` says what they do")


if __name__ == "__main__":
    main()
