"""An educational question read out of a response: as JSON, fenced or bare, or as plain text with lettered options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from rubrica.jsontext import json_values
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.questions.matching import MatchingParts, read_matching
from rubrica.text.questions.options import (
    MARK,
    PLAIN_REACH,
    answer_text,
    letter_of,
    option_index,
    read_options,
    run_of_letters,
)

_DEPTH = 6  # levels of JSON searched for the question, and for explanation text
_MOST_TRIED = 3  # places where JSON may begin
_LONG = 20_000  # characters of explanation kept
LONGEST_JSON = 1_000_000
"""Characters in which a question is looked for; pictures may be written into it."""


_TYPES = {
    "mcq": r"mcq|(?:multiple|single)[- _]choice",
    "multi-select": r"(?:multi|multiple)[- _]?(?:select\w*|response)|select all.*|checkbox(?:es)?|msq",
    "true-false": r"true[- _/]?(?:or[- _])?false|tf|t/f|boolean|yes[- _/]no",
    "fill-in": r"fill[- _]?in.*|cloze|gap.*|(?:fill[- _])?blanks?",
    "numeric": r"numeric(?:al)?(?:[- _]\w+)?|number|integer|calculation",
    "short-answer": r"short(?:[- _]answer)?|constructed[- _]response",
    "open": r"open(?:[- _]ended|[- _]answer)?|essay|long[- _]answer|free[- _]response",
    "matching": r"match(?:ing)?",
    "ordering": r"order(?:ing)?|sequenc\w+|sort(?:ing)?|rank(?:ing)?",
}
OTHER_TYPES = frozenset(_TYPES) - {"mcq"}
"""The types of questions apart from multiple choice, as `Question.kind` names them."""


class Question(msgspec.Struct, frozen=True):
    """One question as its author wrote it. An absent part is empty, never guessed."""

    text: str
    options: tuple[tuple[str, str], ...] = ()  # (letter, text), in order
    answer: str = ""  # as written
    answer_index: int | None = None  # which option it is; None: absent, or it is none of them
    explanation: str = ""  # all of it, the detailed one included
    kind: str = ""  # "mcq", one of OTHER_TYPES, or what the author called it
    images: tuple[tuple[str, str], ...] = ()  # (address, alternative text)
    hints: str = ""  # what a learner may read before answering
    matching: MatchingParts | None = None  # the columns and pairs of a matching question

    @property
    def has_image(self) -> bool:
        return bool(self.images)

    @property
    def chooses(self) -> bool:
        return bool(self.options) or self.kind == "mcq"

    @property
    def is_mcq(self) -> bool:
        """Whether it is multiple choice with one right option; other types have options, too."""
        return self.chooses and self.kind not in OTHER_TYPES

    @property
    def key(self) -> str | None:
        """The text of the option that is the answer."""
        return None if self.answer_index is None else self.options[self.answer_index][1]


class QuestionFault(msgspec.Struct, frozen=True):
    """One thing a check found: what, and the words of the response that show it."""

    label: str
    shown: str


def read_question(text: str) -> Question | None:
    """The first question in the text, or None if it is not a question.

    >>> question = read_question('{"question": "2 + 2?", "options": ["A) 3", "B) 4"], "answer": "b)"}')
    >>> question.options, question.answer_index, question.key
    ((('A', '3'), ('B', '4')), 1, '4')
    >>> read_question("The sky is blue.") is None
    True
    """
    for _, value in json_values(text[:LONGEST_JSON], most=_MOST_TRIED, decoder=_DECODER):
        found = _find(value, _DEPTH)
        if found is not None:
            return _from_json(found)
    return _from_plain(text[:PLAIN_REACH])


# --- JSON -------------------------------------------------------------------------------------------------

_STEMS = ("question", "question_text", "stem", "prompt", "text")
_OPTIONS = ("options", "choices", "answer_options", "alternatives")
_ANSWERS = ("answer", "correct_answer", "correct_option", "correct", "answer_key", "key", "correct_choice")
_PLACES = ("answer_index", "correct_index", "correct_option_index", "correct_answer_index")  # counted from 0
_MARKS_RIGHT = ("is_correct", "correct", "is_answer", "right")
_EXPLANATIONS = ("explanation", "detailed_explanation", "rationale", "solution", "reasoning", "steps")
_HINTS = ("hint", "hints", "scaffolding", "scaffold")
_ALTS = ("alt", "alt_text", "image_alt", "image_description", "caption")
_MOST_IMAGES = 10
_MOST_HINTS = 10
_IMAGES = ("image", "images", "image_url", "image_urls", "image_path", "diagram", "figure", "picture")


def _number(written: str) -> object:
    return int(written) if len(written) < 100 else written  # a longer one is no answer, and slow to convert


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=str, parse_constant=str)


def _find(value: object, depth: int) -> Mapping[str, object] | None:
    """The first object that has a stem, in a question's own shape or wrapped in lists and other objects."""
    if depth == 0:
        return None
    if isinstance(value, list):
        found = (_find(item, depth - 1) for item in value[:3])
        return next((item for item in found if item is not None), None)
    if not isinstance(value, dict):
        return None
    value = {_snake(name): item for name, item in value.items()}
    asks = isinstance(value.get("question"), str)
    lists = any(name in value for name in _OPTIONS) and bool(_stem(value))
    if asks or lists:
        return value
    for name in ("question", "data", "questions", "items", "result"):
        found_below = _find(value.get(name), depth - 1)
        if found_below is not None:
            return found_below
    return None


def _snake(name: object) -> str:
    """A key as it is looked for: correctAnswer and "Correct Answer" are correct_answer."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", str(name)[:60]).lower()


def _stem(found: Mapping[str, object]) -> str:
    inner = found.get("question")
    if isinstance(inner, dict):  # {"question": {"text": …}, "options": …}
        found = {**inner, **found}
    return next((str(found[name]) for name in _STEMS if isinstance(found.get(name), str)), "")


def _from_json(found: Mapping[str, object]) -> Question:
    stem = _stem(found)
    listed = next((found[name] for name in _OPTIONS if found.get(name)), None)
    options = read_options(listed)
    raw = next((found[name] for name in _ANSWERS if found.get(name) not in (None, "", [], {})), "")
    if raw == "":
        raw = _marked(listed, options, found)
    declared = str(found.get("type") or found.get("question_type") or "").strip().lower()
    kind = _kind(declared, stem, raw, options)
    if kind == "matching":
        return _of_pairs(found, stem, listed, raw)
    unlisted = not kind and any(name in found for name in _OPTIONS) and letter_of(answer_text(raw)) is not None
    chooses = kind == "mcq" or ((bool(options) or unlisted) and kind not in OTHER_TYPES)
    return Question(
        stem.strip(),
        options,
        answer_text(raw),
        option_index(raw, options),
        _joined(found, _EXPLANATIONS),
        "mcq" if chooses else kind[:40],
        tuple(_images(found)),
        _joined(found, _HINTS),
    )


def _of_pairs(found: Mapping[str, object], stem: str, listed: object, raw: object) -> Question:
    """A matching question: what would be options elsewhere are its columns."""
    return Question(
        stem.strip(),
        answer=answer_text(raw),
        explanation=_joined(found, _EXPLANATIONS),
        kind="matching",
        images=tuple(_images(found)),
        hints=_joined(found, _HINTS),
        matching=read_matching(found, stem, listed, raw),
    )


def _joined(found: Mapping[str, object], names: tuple[str, ...]) -> str:
    return "\n".join(part for name in names for part in _strings(found.get(name), _DEPTH))[:_LONG]


_SORTS = lazy_pattern(
    r"\b(?:in (?:the right |the correct )?order|order (?:these|the|from)|arrange|sequence|least to)\b", re.I
)


def _kind(declared: str, stem: str, raw: object, options: tuple[tuple[str, str], ...]) -> str:
    """The type of a question: as declared, or as its parts show it; what nobody knows stays as it is."""
    named = next((kind for kind, names in _TYPES.items() if re.fullmatch(names, declared)), declared)
    if named and named != "mcq":
        return named
    if not named and isinstance(raw, dict) and re.match(r"match\b", stem.strip(), re.IGNORECASE):
        return "matching"
    if options and isinstance(raw, list) and len(raw) > 1:
        return "ordering" if len(raw) == len(options) and _SORTS.search(stem) else "multi-select"
    if {text.lower() for _, text in options} == {"true", "false"}:
        return "true-false"
    if not options and not named and (isinstance(raw, bool) or str(raw).strip().lower() in ("true", "false")):
        return "true-false"
    if not options and not named and "__" in stem:
        return "fill-in"
    return named


def _images(found: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The pictures that the question's fields name; a picture that is only described has no address."""
    shared = next((str(found[name]) for name in _ALTS if isinstance(found.get(name), str)), "")
    for name in _IMAGES:
        value = found.get(name)
        for item in (value if isinstance(value, list) else [value])[:_MOST_IMAGES]:
            if isinstance(item, dict):
                url = next((item[key] for key in ("url", "src", "path", "data", "href") if item.get(key)), "")
                alt = next((item[key] for key in ("alt", *_ALTS) if item.get(key)), shared)
                yield str(url).strip(), str(alt).strip()
            elif isinstance(item, str) and item.strip():
                yield item.strip(), shared.strip()
            elif item is True:
                yield "", shared.strip()
    yield from written_images(_stem(found))


_WRITTEN_IMAGE = lazy_pattern(
    r"!\[(?P<alt>[^\]\n]{0,500})\]\(\s*<?(?P<url>[^\s)>]{1,2000000})[^)\n]{0,200}\)|<img\b(?P<tag>[^>]{0,2000000})>",
    re.IGNORECASE,
)
_SOURCE = lazy_pattern(r"\bsrc\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_ALT = lazy_pattern(r"\balt\s*=\s*(?:\"([^\"]{0,500})\"|'([^']{0,500})')", re.IGNORECASE)


def written_images(text: str) -> list[tuple[str, str]]:
    """The pictures that stand in a text as Markdown or HTML: where they are, and what they show in words.

    >>> written_images('Look: ![A bar chart](bars.png "Bars") and <img src="map.png" alt="A map">')
    [('bars.png', 'A bar chart'), ('map.png', 'A map')]
    """
    found = []
    for match in islice(_WRITTEN_IMAGE.finditer(text), _MOST_IMAGES):
        source, alt = _SOURCE.search(match["tag"] or ""), _ALT.search(match["tag"] or "")
        described = (alt[1] or alt[2] or "") if alt else ""
        url = match["url"] or (source[1] if source else "")
        found.append((url, (match["alt"] or described).strip()))
    return found


def _marked(listed: object, options: tuple[tuple[str, str], ...], found: Mapping[str, object]) -> str:
    """The label of the option that is marked as the right one, or whose place is given."""
    items = listed if isinstance(listed, list) else []
    right = [
        place
        for place, item in enumerate(items[: len(options)])
        if isinstance(item, dict) and any(item.get(name) is True for name in _MARKS_RIGHT)
    ]
    right += [place for name in _PLACES if isinstance(place := found.get(name), int) and not isinstance(place, bool)]
    return options[right[0]][0] if len(right) == 1 and 0 <= right[0] < len(options) else ""


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


def names_several(question: Question) -> bool:
    """Whether the answer names several options, as in "A and C"."""
    parts = re.split(r"\s*(?:[,;&]|\band\b)\s*", question.answer)
    return len(parts) > 1 and all(option_index(part, question.options) is not None for part in parts)


# --- plain text -------------------------------------------------------------------------------------------

_ANSWER_LINE = lazy_pattern(
    r"^[^\w\n]*(?:the\s+)?(?:correct\s+)?(?:answer|key)(?:\s+key)?\W{0,4}(?:is\b)?\W{0,4}([^\n]{1,300})$",
    re.IGNORECASE | re.MULTILINE,
)
_EXPLAINS = lazy_pattern(
    r"^[^\w\n]*(?:explanation|solution|rationale|reasoning|why)\b\W*", re.IGNORECASE | re.MULTILINE
)
_ASKS = lazy_pattern(
    r"\?|_{2,}|\b(?:which|what|choose|select|find|how (?:many|much)|solve|calculate|complete|determine|evaluate)\b",
    re.IGNORECASE,
)


_HINTED = lazy_pattern(r"^[^\w\n]*hints?\b[ \t\d]*[):.][ \t]*(?=\S)([^\n]+)", re.IGNORECASE | re.MULTILINE)
_PART_WITHIN_A_LINE = lazy_pattern(
    r"(?<=\S)[ \t]{1,9}(?=[*_]{0,2}"
    r"(?:(?:the )?correct answer|answer(?: key)?|key|hints?(?: \d)?|explanation|solution|rationale)[*_]{0,2}:)",
    re.IGNORECASE,
)


def _from_plain(text: str) -> Question | None:
    """A question as teachers write it, on one line or many: its parts are named, its options have letters."""
    text = _PART_WITHIN_A_LINE.sub("\n", text)
    marks = run_of_letters([(match[1] or match[2], *match.span()) for match in MARK.finditer(text)])
    if len(marks) < 2:
        return _without_options(text)
    first, last = marks[0][1], marks[-1][2]
    stem = _bare_stem(text[:first])
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
    follows = said.end() if said and said.start() >= tail_from else len(text)
    place, images = option_index(answer, options), tuple(written_images(stem))
    explanation, hints = _explained(text, tail_from, follows), _hints(text)
    return Question(stem, options, answer, place, explanation, "mcq", images, hints)


def _without_options(text: str) -> Question | None:
    """A question with an answer that is named as such; other prose is none."""
    said = _ANSWER_LINE.search(text)
    parts = [part.start() for part in (said, _EXPLAINS.search(text), _HINTED.search(text)) if part]
    stem = _bare_stem(text[: min(parts)]) if said else ""
    if not said or not (_ASKS.search(stem) or _CLAIMS.match(stem)):
        return None
    answer = said[1].strip(" \t*_")
    kind, images = _kind("", stem, answer.rstrip("."), ()), tuple(written_images(stem))
    return Question(stem, (), answer, None, _explained(text, 0, said.end()), kind, images, _hints(text))


_CLAIMS = lazy_pattern(
    r"true or false\b|(?:write|name|list|explain|describe|give|show|draw|round|simplify)\b", re.IGNORECASE
)


_NUMBERED = lazy_pattern(
    r"^[\s#*>]*(?:\d{1,3}[.):][*]{0,2}\s+)?[*\s]*(?:q(?:uestion)?[ \t]*\d{0,3}[*]{0,2}(?:[.):]|(?=\n))[*]{0,2})?\s*",
    re.IGNORECASE,
)


def _bare_stem(text: str) -> str:
    return _NUMBERED.sub("", text).strip()


def _explained(text: str, start: int, follows: int) -> str:
    """What explains the answer: the part of that name, or else what follows the answer."""
    explains = _EXPLAINS.search(text, start)
    return text[explains.end() if explains else follows :].strip()[:_LONG]


def _hints(text: str) -> str:
    return "\n".join(match[1].strip() for match in islice(_HINTED.finditer(text), _MOST_HINTS))[:_LONG]
