"""The usual names of columns, and which column of a file is what: guessed where one column fits, and told."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

QUESTION_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "item_id", "qid", "record_id", "question_number", "item_number", "item_no", "uid"),
    "question": ("question", "question_text", "stem", "question_stem", "item_stem", "item_text", "problem", "text"),
    "options": ("options", "choices", "answer_options", "answer_choices", "alternatives", "possible_answers"),
    "answer": (
        *("answer", "correct_answer", "correct_option", "correct_choice", "answer_key", "correct", "key"),
        *("right_answer", "correct_response", "correct_letter", "solution_key"),
    ),
    "explanation": ("explanation", "rationale", "solution", "reasoning", "worked_solution", "answer_explanation"),
    "type": ("type", "question_type", "item_type", "question_format"),
    "difficulty": ("difficulty", "difficulty_level"),
    "grade": ("grade", "grade_level", "school_grade", "grades", "year_group"),
    "subject": ("subject", "subject_area", "discipline"),
    "skill": (
        *("skill", "skill_description", "substandard_description", "lesson_title", "standard", "topic"),
        *("learning_objective", "objective", "standard_description"),
    ),
    "language": ("language", "lang"),
    "image": ("image", "image_url", "images", "image_urls", "picture", "image_path"),
}
"""Fields of a question."""

CASE_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "case_id", "example_id", "uid"),
    "prompt": ("prompt", "question", "input", "query", "instruction", "user_message", "problem"),
    "response": (
        *("response", "output", "completion", "answer", "reply", "model_output", "generation", "prediction"),
        *("assistant_message", "generated_text", "text", "summary"),
    ),
}
"""Fields of a case."""

_OPTION = re.compile(r"(?:(?:option|choice|answer|opt|alternative)([a-j]|[1-9]|10)|([a-j]))")


class ColumnGuess(msgspec.Struct, frozen=True):
    """Which column each field is read from, and fields for which several columns would do."""

    columns: Mapping[str, str]
    unsure: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    @property
    def description(self) -> str:
        """The guess in words; empty where all columns are called as the fields are.

        >>> ColumnGuess({"question": "Question", "id": "id"}).description
        'question ← Question'
        """
        return ", ".join(f"{name} ← {column}" for name, column in self.columns.items() if name != column)


def plain_name(name: str) -> str:
    """A name without what does not matter: case, spaces, underscores.

    >>> plain_name("Correct Answer"), plain_name("correct_answer"), plain_name("correctAnswer ")
    ('correctanswer', 'correctanswer', 'correctanswer')
    """
    return "".join(char for char in name.casefold() if char.isalnum())


def guess_columns(
    columns: Sequence[str], usual: Mapping[str, tuple[str, ...]], given: Collection[str] = ()
) -> ColumnGuess:
    """A column for each field that is not given. The field's own name wins; else exactly one column has to fit.

    >>> guess_columns(["Question", "Correct Answer", "Grade Level"], QUESTION_NAMES).description
    'question ← Question, answer ← Correct Answer, grade ← Grade Level'
    >>> guess_columns(["stem", "item text"], QUESTION_NAMES).unsure
    {'question': ('stem', 'item text')}
    """
    found: dict[str, str] = {}
    unsure: dict[str, tuple[str, ...]] = {}
    plain = {column: plain_name(column) for column in columns}
    for name, others in usual.items():
        if name in given:
            continue
        own = [column for column in columns if plain[column] == plain_name(name)]
        wanted = {plain_name(other) for other in others}
        fitting = ([name] if name in own else own) or [column for column in columns if plain[column] in wanted]
        if len(fitting) == 1:
            found[name] = fitting[0]
        elif fitting:
            unsure[name] = tuple(fitting)
    return ColumnGuess(found, unsure)


def option_columns(columns: Iterable[str]) -> dict[str, str]:
    """The columns that hold one option each, by the option's letter: option_a, Choice 2, A; two at least.

    >>> option_columns(["Question", "Option A", "Option B", "Option C", "Answer"])
    {'A': 'Option A', 'B': 'Option B', 'C': 'Option C'}
    """
    found: dict[str, str] = {}
    for column in columns:
        match = _OPTION.fullmatch(plain_name(column))
        if match is not None:
            said = match[1] or match[2]
            letter = chr(ord("A") + int(said) - 1) if said.isdigit() else said.upper()
            found.setdefault(letter, column)
    return {letter: found[letter] for letter in sorted(found)} if len(found) > 1 and "A" in found else {}
