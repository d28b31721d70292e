"""An educational question read out of a response: as JSON, fenced or bare, or as plain text with lettered options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.expression import tokens_of, value_of

_PLAIN_REACH = 50_000  # characters of a response read as a plain-text question
_DEPTH = 6  # levels of JSON searched for the question, and for explanation text
_LONG = 200_000  # characters of explanation kept


@dataclass(frozen=True, slots=True)
class Question:
    """One question as its author wrote it. An absent part is empty, never guessed."""

    text: str
    options: tuple[tuple[str, str], ...] = ()  # (letter, text), in order
    answer: str = ""  # as written
    answer_index: int | None = None  # which option it is; None: absent, or it is none of them
    explanation: str = ""  # all of it, the detailed one included
    kind: str = ""  # "mcq", or what the author called it
    has_image: bool = False

    @property
    def is_mcq(self) -> bool:
        return bool(self.options) or self.kind == "mcq"

    @property
    def key(self) -> str | None:
        """The text of the option that is the answer."""
        return None if self.answer_index is None else self.options[self.answer_index][1]


def read_question(text: str) -> Question | None:
    """The first question in the text, or None if it is not a question.

    >>> question = read_question('{"question": "2 + 2?", "options": ["A) 3", "B) 4"], "answer": "b)"}')
    >>> question.options, question.answer_index, question.key
    ((('A', '3'), ('B', '4')), 1, '4')
    >>> read_question("The sky is blue.") is None
    True
    """
    for value in _json_values(text):
        found = _find(value, _DEPTH)
        if found is not None:
            return _from_json(found)
    return _from_plain(text[:_PLAIN_REACH])


# --- JSON -------------------------------------------------------------------------------------------------

_STEMS = ("question", "question_text", "stem", "prompt", "text")
_OPTIONS = ("options", "choices", "answer_options", "alternatives")
_ANSWERS = ("answer", "correct_answer", "correct_option", "correct", "answer_key", "key")
_EXPLANATIONS = ("explanation", "detailed_explanation", "rationale", "solution", "reasoning", "steps")
_IMAGES = ("image", "images", "image_url", "image_urls", "image_path", "diagram", "figure", "picture")


def _json_values(text: str) -> Iterator[object]:
    """What may be the response's JSON: from the first few places where an object or a list opens."""
    decoder = json.JSONDecoder(parse_int=_number, parse_float=str, parse_constant=str)
    place = 0
    for _ in range(3):
        opening = re.compile(r"[{\[]").search(text, place)
        if opening is None:
            return
        try:
            value, place = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            place = opening.end()
            continue
        yield value


def _number(written: str) -> object:
    return int(written) if len(written) < 100 else written  # a longer one is no answer, and slow to convert


def _find(value: object, depth: int) -> Mapping[str, object] | None:
    """The first object that has a stem, in a question's own shape or wrapped in lists and other objects."""
    if depth == 0:
        return None
    if isinstance(value, list):
        found = (_find(item, depth - 1) for item in value[:3])
        return next((item for item in found if item is not None), None)
    if not isinstance(value, dict):
        return None
    asks = isinstance(value.get("question"), str)
    lists = any(name in value for name in _OPTIONS) and any(isinstance(value.get(name), str) for name in _STEMS)
    if asks or lists:
        return value
    for name in ("question", "data", "questions", "items", "result"):
        found_below = _find(value.get(name), depth - 1)
        if found_below is not None:
            return found_below
    return None


def _from_json(found: Mapping[str, object]) -> Question:
    stem = next((str(found[name]) for name in _STEMS if isinstance(found.get(name), str)), "")
    options = _options(next((found[name] for name in _OPTIONS if found.get(name)), None))
    raw = next((found[name] for name in _ANSWERS if found.get(name) not in (None, "", [], {})), "")
    parts = [part for name in _EXPLANATIONS for part in _strings(found.get(name), _DEPTH)]
    kind = str(found.get("type") or found.get("question_type") or "").strip().lower()
    chooses = bool(options) or kind.replace("-", " ").replace("_", " ") in {"mcq", "multiple choice"}
    return Question(
        stem.strip(),
        options,
        _answer_text(raw),
        _index(raw, options),
        "\n".join(parts)[:_LONG],
        "mcq" if chooses else kind[:40],
        any(bool(found.get(name)) for name in _IMAGES),
    )


def _strings(value: object, depth: int, mark: str = "") -> Iterator[str]:
    """All text in a value; members of a list are marked, so that they count as steps."""
    if isinstance(value, str):
        if value.strip():
            yield mark + value.strip()
    elif depth and isinstance(value, list):
        for item in value[:1000]:
            yield from _strings(item, depth - 1, "- ")
    elif depth and isinstance(value, dict):
        for place, item in enumerate(value.values()):
            yield from _strings(item, depth - 1, mark if place == 0 else "")


# --- options and the answer -------------------------------------------------------------------------------

_LABEL = re.compile(r"\s*(?:\(([A-Za-z])\)|([A-Za-z])\s?[).:]|([A-Z])\s[-–]\s)\s*")
_LETTER = re.compile(r"\W*(?:(?:option|choice|answer|letter)\W*)?\(?([A-Za-z])\W*", re.IGNORECASE)


def _options(value: object) -> tuple[tuple[str, str], ...]:
    if isinstance(value, dict):
        return tuple((_label(str(name)), _plain(item)) for name, item in list(value.items())[:100])
    if not isinstance(value, list):
        return ()
    written = [_plain(item) for item in value[:100]]
    labels = [_LABEL.match(text) for text in written]
    if written and all(labels):  # one unlabelled option, and the letters are part of the texts
        return tuple(
            (next(group for group in label.groups() if group).upper(), text[label.end() :].strip())
            for label, text in zip(labels, written, strict=True)
            if label is not None
        )
    named = [str(item.get("label") or item.get("letter") or "") if isinstance(item, dict) else "" for item in value]
    return tuple(
        (_label(name) if name else _letter(place), text)
        for place, (name, text) in enumerate(zip(named, written, strict=False))
    )


def _plain(value: object) -> str:
    if isinstance(value, dict):
        value = next((value[name] for name in ("text", "value", "option", "content") if name in value), "")
    return str(value).strip() if isinstance(value, str | int) else ""


def _label(written: str) -> str:
    return written.strip(" ().:").upper()[:10]


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def _answer_text(raw: object) -> str:
    if isinstance(raw, list):
        raw = raw[0] if len(raw) == 1 else ", ".join(_plain(item) for item in raw[:10])
    return _plain(raw)[:1000]


def letter_of(answer: str) -> str | None:
    """The letter an answer consists of: "B", "b)", "(B)", "Option B"."""
    match = _LETTER.fullmatch(answer)
    return match[1].upper() if match else None


def _index(raw: object, options: tuple[tuple[str, str], ...]) -> int | None:
    answer = _answer_text(raw)
    if not answer or not options:
        return None
    labels = [label for label, _ in options]
    letter = letter_of(answer)
    if letter in labels:
        return labels.index(letter)
    texts = [normal(text) for _, text in options]
    if normal(answer) in texts:
        return texts.index(normal(answer))
    lead = _LABEL.match(answer)
    if lead is not None:
        letter = next(group for group in lead.groups() if group).upper()
        rest = answer[lead.end() :]
        if letter in labels and (not rest or normal(rest) == texts[labels.index(letter)]):
            return labels.index(letter)
    if answer.upper() in labels:
        return labels.index(answer.upper())
    return raw if isinstance(raw, int) and 0 <= raw < len(options) else None


def normal(text: str) -> str:
    """A text without the differences that do not matter: case, space, a final stop, how a number is written.

    >>> normal(" 1/2 ") == normal("0.50"), normal("1,000.") == normal("1000"), normal("a  B") == normal("A b")
    (True, True, True)
    """
    value = number_of(text)
    if value is not None:
        return f"={value}"
    return " ".join(text.casefold().split()).rstrip(".")


def number_of(text: str) -> Fraction | None:
    """The value of a text that is one number, in any notation: 3,257, -0.5, 1/2, 2 1/2, $5, 50%."""
    if len(text) > 40:
        return None
    tokens = tokens_of(text.strip().rstrip("."))
    kinds = [token.kind for token in tokens if token.kind != "money"]
    signs = kinds[1:] if kinds[:1] == ["operator"] and tokens[0].text in {"-", "+"} else kinds
    fraction = signs == ["number", "operator", "number"] and any(token.text == "/" for token in tokens)
    if signs != ["number"] and not fraction:
        return None  # 50% stays a text of its own: next to 0.5 it is another option
    try:
        return Fraction(value_of([token for token in tokens if token.kind != "money"], text))
    except (FormulaError, FormulaFault):
        return None


# --- plain text -------------------------------------------------------------------------------------------

_MARK = re.compile(  # at the start of a line, or in it with a space after
    r"(?:^[ \t]{0,8}(?:[-*•][ \t])?[*_]{0,2}\(?([A-Z])[).:][*_]{0,2}|(?<=\s)\(?([A-Z])[).](?=\s))", re.MULTILINE
)
_ANSWER_LINE = re.compile(
    r"^\W*(?:the\s+)?(?:correct\s+)?(?:answer|key)(?:\s+key)?\W{0,4}(?:is\b)?\W{0,4}([^\n]{1,300})$",
    re.IGNORECASE | re.MULTILINE,
)
_EXPLAINS = re.compile(r"^\W*(?:explanation|solution|rationale|reasoning|why)\b\W*", re.IGNORECASE | re.MULTILINE)
_ASKS = re.compile(
    r"\?|_{2,}|\b(?:which|what|choose|select|find|how (?:many|much)|solve|calculate|complete|determine|evaluate)\b",
    re.IGNORECASE,
)


def _from_plain(text: str) -> Question | None:
    marks = _run_of_letters([(match[1] or match[2], *match.span()) for match in _MARK.finditer(text)])
    if len(marks) < 2:
        return None
    first, last = marks[0][1], marks[-1][2]
    stem = re.sub(r"^\W*(?:question)?\W*\d*[.):]?\W*", "", text[:first], flags=re.IGNORECASE).strip()
    tail_from = text.find("\n", last)
    tail_from = len(text) if tail_from < 0 else tail_from
    said = _ANSWER_LINE.search(text, tail_from) or _ANSWER_LINE.search(text, 0, first)
    if not stem or not (_ASKS.search(stem) or said):
        return None
    ends = [start for _, start, _ in marks[1:]] + [tail_from]
    options = tuple(
        (letter, text[start:end].strip(" \t\r\n*_")) for (letter, _, start), end in zip(marks, ends, strict=True)
    )
    answer = said[1].strip(" \t*_") if said else ""
    explains = _EXPLAINS.search(text, tail_from)
    follows = said.end() if said and said.start() >= tail_from else len(text)
    explanation = text[explains.end() if explains else follows :]
    return Question(stem, options, answer, _index(answer, options), explanation.strip()[:_LONG], "mcq")


Mark = tuple[str, int, int]  # the letter, and where its mark starts and ends


def _run_of_letters(marks: list[Mark]) -> list[Mark]:
    """The first run A, B, C … among the marks."""
    letters = "".join(letter for letter, _, _ in marks)
    place = letters.find("AB")
    if place < 0:
        return []
    length = 2
    while letters[place + length : place + length + 1] == chr(ord("A") + length):
        length += 1
    return marks[place : place + length]
