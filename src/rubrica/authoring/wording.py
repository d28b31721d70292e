"""Rules about the wording of one criterion."""

from __future__ import annotations

from collections.abc import Iterator

from rubrica.errors import Problem

from .asks_two import two_questions
from .cannot_fail import unfailing
from .criterion_text import CriterionText
from .lint_warning import LintWarning
from .vague_wording import vague_word


def wording_warnings(criterion: CriterionText) -> Iterator[LintWarning]:
    """What is wrong with one criterion, read by itself. Anchors say what a vague word means, and what half of two
    things is worth: with them, neither is told."""
    found = unfailing(criterion.text, binary=criterion.binary)
    if not criterion.anchors:
        if (both := two_questions(criterion.text)) is not None:
            why = f"asks two things, joined by {both.joint!r}: which answer fits where only one holds?"
            yield LintWarning("two-questions", Problem(why, criterion.path), both.wording)
        if found is None and (word := vague_word(criterion.text)) is not None:
            why = f"{word.word!r} leaves open what is meant"
            yield LintWarning("vague", Problem(why, criterion.path), word.wording)
    if found is not None:
        yield LintWarning("cannot-fail", Problem(found.why, criterion.path), found.wording)
