"""Names that formulas can read, for what other tools call by any text: criteria, tree nodes, options."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Mapping

from rubrica.engine.vocabulary import RESERVED
from rubrica.formula import FUNCTIONS
from rubrica.scorers.namespace import CONTEXT_COUNTS
from rubrica.text import text_features

LONGEST = 64
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID_NAME = re.compile(r"n_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}")
_LEGEND = "\n\nAnswers:\n"


def reserved_names() -> set[str]:
    """What no dimension may be called: functions, text features and words of formulas.

    >>> {"min", "word_count", "score", "class"} <= reserved_names()
    True
    """
    return {*FUNCTIONS, *text_features(), *CONTEXT_COUNTS, *RESERVED, *keyword.kwlist}


def name_of(text: str, taken: Collection[str] = (), prefix: str = "n_") -> str:
    """A text as a name: a letter, then letters, digits and underscores, and none that is taken.

    >>> name_of("Very satisfied"), name_of("N/A – no claims"), name_of("4"), name_of("速度")
    ('Very_satisfied', 'N_A_no_claims', 'n_4', 'n')
    >>> name_of("dose", taken={"dose"})
    'dose_2'
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
    name = (words if words[:1].isalpha() else prefix + words)[:LONGEST].rstrip("_")
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name[: LONGEST - 8]}_{number}"
    return found


def name_of_id(found: str, taken: Collection[str]) -> str:
    """The id of a node as a name. A UUID can be told back from it.

    >>> name_of_id("0f5a7e10-3c41-4b6e-9b57-2f0c1d2e3f40", ())
    'n_0f5a7e10_3c41_4b6e_9b57_2f0c1d2e3f40'
    """
    return "n_" + found.replace("-", "_") if _UUID.fullmatch(found) else name_of(found, taken)


def id_of_name(name: str) -> str:
    """The id that a name stands for.

    >>> id_of_name("n_0f5a7e10_3c41_4b6e_9b57_2f0c1d2e3f40"), id_of_name("setup")
    ('0f5a7e10-3c41-4b6e-9b57-2f0c1d2e3f40', 'setup')
    """
    return name[2:].replace("_", "-") if _UUID_NAME.fullmatch(name) else name


def answer_names(labels: list[str]) -> dict[str, str]:
    """The names of labels, in their order: name → label."""
    found: dict[str, str] = {}
    for label in labels:
        found[name_of(label.strip().lower(), found, "answer_")] = label.strip()
    return found


def with_legend(asks: str, names: Mapping[str, str]) -> str:
    """A question that says which label each answer stands for, where the names alone do not tell.

    >>> print(with_legend("How far?", {"answer_1": "1", "all_of_it": "All of it"}))
    How far?
    <BLANKLINE>
    Answers:
    - answer_1: 1
    - all_of_it: All of it
    """
    if all(_plain(label) == _plain(name) for name, label in names.items()):
        return asks
    return asks + _LEGEND + "\n".join(f"- {name}: {' '.join(label.split())}" for name, label in names.items())


def without_legend(asks: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """The question alone, and the label of each answer.

    >>> without_legend("How far?\\n\\nAnswers:\\n- answer_1: 1\\n- all: All", ["answer_1", "all"])
    ('How far?', {'answer_1': '1', 'all': 'All'})
    >>> without_legend("Is it so?", ["not_met"])
    ('Is it so?', {'not_met': 'not met'})
    """
    question, legend, lines = asks.rpartition(_LEGEND)
    if legend:
        found = dict(line.removeprefix("- ").partition(": ")[::2] for line in lines.splitlines())
        if list(found) == list(names):
            return question, found
    return asks, {name: name.replace("_", " ") for name in names}


def _plain(label: str) -> str:
    return " ".join(label.lower().replace("_", " ").replace("-", " ").split())
