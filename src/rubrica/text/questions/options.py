"""The options of a question and the answer that names one of them: labels in any alphabet, letters, texts, places."""

from __future__ import annotations

import re
from fractions import Fraction

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.expression import tokens_of, value_of
from rubrica.text.maths.latex import plain_maths
from rubrica.text.maths.units import measured_amount

PLAIN_REACH = 50_000  # characters of a text that are read as plain-text options

MARK = lazy_pattern(  # at the start of a line, or in it with a space after
    r"(?:^[ \t]{0,8}(?:[-*•][ \t])?[*_]{0,2}\(?([A-Z])[).:][*_]{0,2}|(?<=\s)\(?([A-Z])[).](?=\s))", re.MULTILINE
)

_LABEL = lazy_pattern(  # (A), A), A., A: or A、 in any alphabet; 1) and iii) with a space after
    r"\s*(?:\(([^\W\d_])\)|([^\W\d_])\s?[).:、．：]|([A-Z])\s[-–]\s|\(?(\d{1,2}|[ivx]{2,4})[).:]\s)\s*"
)
_LETTER = lazy_pattern(
    r"\W*(?:(?:option|choice|answer|letter|antwort|lösung|opci[oó]n|respuesta|r[eé]ponse|risposta|resposta|ответ|вариант)"
    r"\W*)?\(?([^\W\d_])\W*",
    re.IGNORECASE,
)


def read_options(value: object) -> tuple[tuple[str, str], ...]:
    if isinstance(value, dict):
        return tuple((_label(str(name)), plain_text(item)) for name, item in list(value.items())[:100])
    if isinstance(value, str):
        value = _split(value[:PLAIN_REACH])
    if not isinstance(value, list):
        return ()
    written = [plain_text(item) for item in value[:100]]
    labels = [_label_of(text) for text in written]
    names = [label[0] for label in labels if label is not None]
    if len(names) == len(written) == len(set(names)):  # one unlabelled option, and the letters are part of the texts
        return tuple((label[0], text[label[1] :].strip()) for label, text in zip(labels, written, strict=True) if label)
    named = [str(item.get("label") or item.get("letter") or "") if isinstance(item, dict) else "" for item in value]
    return tuple(
        (_label(name) if name else _letter(place), text)
        for place, (name, text) in enumerate(zip(named, written, strict=False))
    )


def _split(text: str) -> list[str]:
    """Options written as one text: a line each, or one after the other with their letters."""
    marks = run_of_letters([(match[1] or match[2], *match.span()) for match in MARK.finditer(text)])
    if len(marks) >= 2:
        ends = [start for _, start, _ in marks[1:]] + [len(text)]
        return [text[start:end].strip() for (_, start, _), end in zip(marks, ends, strict=True)]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines if len(lines) > 1 else []


def _label_of(text: str) -> tuple[str, int] | None:
    """The label that an option's text begins with, and where the label ends."""
    match = _LABEL.match(text)
    return (next(group for group in match.groups() if group).upper(), match.end()) if match else None


def plain_text(value: object) -> str:
    if isinstance(value, dict):
        value = next((value[name] for name in ("text", "value", "option", "content", "answer") if name in value), "")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return str(value).strip() if isinstance(value, str | int) else ""


def _label(written: str) -> str:
    return written.strip(" ().:").upper()[:10]


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def answer_text(raw: object) -> str:
    if isinstance(raw, list):
        raw = raw[0] if len(raw) == 1 else ", ".join(plain_text(item) for item in raw[:10])
    return plain_text(raw)[:1000]


def letter_of(answer: str) -> str | None:
    """The letter an answer consists of: "B", "b)", "(B)", "Option B"."""
    match = _LETTER.fullmatch(answer)
    return match[1].upper() if match else None


def option_index(raw: object, options: tuple[tuple[str, str], ...]) -> int | None:
    answer = answer_text(raw)
    if not answer or not options:
        return None
    labels = [label for label, _ in options]
    letter = letter_of(answer)
    if letter in labels:
        return labels.index(letter)
    written = [" ".join(text.casefold().split()) for _, text in options]
    if " ".join(answer.casefold().split()) in written:
        return written.index(" ".join(answer.casefold().split()))
    texts = [normal(text) for _, text in options]
    if normal(answer) in texts:
        return texts.index(normal(answer))
    lead = _label_of(answer)
    if lead is not None:
        letter, rest = lead[0], answer[lead[1] :]
        if letter in labels and (not rest or normal(rest) == texts[labels.index(letter)]):
            return labels.index(letter)
    if answer.upper() in labels:
        return labels.index(answer.upper())
    return raw if isinstance(raw, int) and 0 <= raw < len(options) else None


def normal(text: str) -> str:
    """A text without the differences that do not matter: case, space, a final stop, how an amount is written.

    >>> normal(" 1/2 ") == normal("0.50"), normal("1.2 km") == normal("1,200 metres"), normal("a  B") == normal("A b")
    (True, True, True)
    """
    value = number_of(text)
    if value is not None:
        return f"={value}"
    amount = measured_amount(text) if re.search(r"\d", text) else None
    if amount is not None and amount.kind:
        return f"={amount.size} {amount.kind}"
    return " ".join(text.casefold().split()).rstrip(".")


def number_of(text: str) -> Fraction | None:
    """The value of a text that is one number, in any notation: 3,257, -0.5, 1/2, 2 1/2, $5, 50%."""
    if len(text) > 40:
        return None
    tokens = tokens_of(plain_maths(text).strip().rstrip("."))
    if len(tokens) > 2 and tokens[0].kind == "open" and tokens[-1].kind == "close":
        tokens = tokens[1:-1]
    kinds = [token.kind for token in tokens if token.kind != "money"]
    signs = kinds[1:] if kinds[:1] == ["operator"] and tokens[0].text in {"-", "+"} else kinds
    fraction = signs == ["number", "operator", "number"] and any(token.text == "/" for token in tokens)
    if signs != ["number"] and not fraction:
        return None  # 50% stays a text of its own: next to 0.5 it is another option
    try:
        return Fraction(value_of([token for token in tokens if token.kind != "money"], text))
    except (FormulaError, FormulaFault):
        return None


Mark = tuple[str, int, int]  # the letter, and where its mark starts and ends


def run_of_letters(marks: list[Mark]) -> list[Mark]:
    """The first run A, B, C … among the marks."""
    letters = "".join(letter for letter, _, _ in marks)
    place = letters.find("AB")
    if place < 0:
        return []
    length = 2
    while letters[place + length : place + length + 1] == chr(ord("A") + length):
        length += 1
    return marks[place : place + length]
