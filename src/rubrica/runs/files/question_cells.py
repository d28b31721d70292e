"""A question from cells as people have them: its options from one cell or from columns, its key as a letter.

A key that is a number says nothing by itself: 2 may be the second option, the third, or the text of one. What it is
is decided for a whole file, by what all of its keys allow; where they allow more than one reading, it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rubrica.errors import InputError
from rubrica.text.questions.options import normal, plain_text, read_options

from .column_names import ColumnGuess, option_columns
from .layout import KeyBase
from .option_cells import Options, read_options_cell

_WAY_OUT = "say what the first option's number is: --key-base 0 or --key-base 1"
_ASKED = ("question", "options", "answer", "explanation", "type", "difficulty", "image")


class QuestionCells(msgspec.Struct, frozen=True):
    """How the questions of one file are read. `base` is None where keys are letters or texts."""

    base: KeyBase | None = None

    @classmethod
    def of(cls, questions: Iterable[Mapping[str, Any]], base: KeyBase | None = None) -> QuestionCells:
        """What the keys of all questions come to; an InputError where that cannot be told, or nothing fits.

        >>> asked = {"options": ["red", "blue", "green"]}
        >>> QuestionCells.of([{**asked, "answer": 2}, {**asked, "answer": "3"}]).base
        1
        >>> QuestionCells.of([{**asked, "answer": 1}, {**asked, "answer": 2}])
        Traceback (most recent call last):
        rubrica.errors.InputError: the keys are numbers, and both readings fit (1 with 3 options): say what the first...
        """
        if base is not None:
            return cls(base)
        seen = _Keys()
        for question in questions:
            try:
                seen.add(with_options(question))
            except InputError:
                continue  # told when it is read
        return cls(seen.base())

    @staticmethod
    def suggested(guess: ColumnGuess, columns: Sequence[str]) -> dict[str, str]:
        """How such columns are mapped to a response that is a question."""
        found = {
            f"response.{name}" if name in _ASKED else name: column
            for name, column in guess.columns.items()
            if name in _ASKED or name != column
        }
        options = option_columns(columns)
        if "options" not in guess.columns and options:
            found["response.options"] = ",".join(options.values())
        return found if "response.question" in found else {}

    def question(self, cells: Mapping[str, Any]) -> dict[str, Any]:
        """The question with its options as a list or a map, and its key as a letter or a text.

        >>> QuestionCells(1).question({"question": "6 × 7?", "options": "36 | 42", "answer": "2"})
        {'question': '6 × 7?', 'options': {'A': '36', 'B': '42'}, 'answer': 'B'}
        """
        found = with_options(cells)
        keys = _numbers(found.get("answer"))
        options = found.get("options")
        if self.base is None or not keys or not options:
            return found
        labelled = read_options(options)
        if any(label.isdigit() for label, _ in labelled):
            return found  # the numbers are the options' own
        places = [key - self.base for key in keys]
        if any(not 0 <= place < len(labelled) for place in places):
            if _are_texts(keys, labelled):
                return found
            message = f"the key {found['answer']} is no option: there are {len(labelled)}, counted from {self.base}"
            raise InputError(message)
        letters = [labelled[place][0] for place in places]
        return {
            **found,
            "options": dict(labelled) if len({label for label, _ in labelled}) == len(labelled) else options,
            "answer": letters if isinstance(found["answer"], list) else ", ".join(letters),
        }


class _Keys(msgspec.Struct):
    """The keys of a file that are numbers, and what each of them rules out."""

    texts: int = 0  # keys that are the text of an option
    places: int = 0  # others that can be the place of one
    zero: str = ""  # a key that rules out counting from 1
    last: str = ""  # one that rules out counting from 0
    example: str = ""

    def add(self, question: Mapping[str, Any]) -> None:
        options = read_options(question.get("options"))
        keys = _numbers(question.get("answer"))
        if not options or not keys or any(label.isdigit() for label, _ in options):
            return
        if _are_texts(keys, options):
            self.texts += 1
        elif all(key <= len(options) for key in keys):
            self.places += 1
            self.example = self.example or f"{keys[0]} with {len(options)} options"
            if 0 in keys:
                self.zero = self.zero or f"0 with {len(options)} options"
            if len(options) in keys:
                self.last = self.last or f"{len(options)} with {len(options)} options"

    def base(self) -> KeyBase | None:
        """What the numbers count from; None where they are mostly texts. A number that is neither is a wrong key."""
        if self.places <= self.texts:
            return None
        if self.zero and self.last:
            raise InputError(f"the keys are numbers that no reading fits ({self.zero}; {self.last}): {_WAY_OUT}")
        if not self.zero and not self.last:
            raise InputError(f"the keys are numbers, and both readings fit ({self.example}): {_WAY_OUT}")
        return 0 if self.zero else 1


def _are_texts(keys: Sequence[int], options: Sequence[tuple[str, str]]) -> bool:
    written = {normal(text) for _, text in options}
    return all(normal(str(key)) in written for key in keys)


def with_options(cells: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a question with its options as a list or a map, wherever they stood.

    >>> with_options({"question": "2 + 2?", "Option A": 4, "Option B": 5, "answer": "A"})
    {'question': '2 + 2?', 'answer': 'A', 'options': {'A': 4, 'B': 5}}
    """
    found = dict(cells)
    options: Options | None = None
    given = found.pop("options", None)
    if given not in (None, "", [], {}):
        options = read_options_cell(given)
    else:
        columns = option_columns(name for name in found if found[name] not in (None, ""))
        if columns:
            options = {letter: found.pop(column) for letter, column in columns.items()}
    if options is not None:
        found["options"] = options if not isinstance(options, dict) else dict(options)
    return found if "options" not in cells or "options" not in found else _in_order(found, cells)


def _in_order(found: dict[str, Any], cells: Mapping[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in cells if name in found}


def _numbers(answer: object) -> list[int]:
    """The whole numbers that a key consists of; none where it is anything else.

    >>> _numbers(2), _numbers("3"), _numbers([0, 2]), _numbers("B"), _numbers(True), _numbers(2.5)
    ([2], [3], [0, 2], [], [], [])
    """
    parts = answer if isinstance(answer, list) else [answer]
    found = []
    for part in parts:
        text = plain_text(int(part)) if isinstance(part, float) and part.is_integer() else plain_text(part)
        if isinstance(part, bool) or not text.isascii() or not text.isdigit() or len(text) > 3:
            return []
        found.append(int(text))
    return found
