"""Batches: one question about several axes, each of which is judged by itself.

What a batch leaves open, because an entry is missing or cannot be read or the whole reply is of no use, is asked about
once more, axis by axis. Entries are numbered, so that the form of the reply is the same for every batch of as many
axes: providers keep the beginning of a request only with its form.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from rubrica.model.answers import AnswerSet
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Unscored, total_cost

from . import prompt, shape
from .axis_questions import ONE, AxisQuestions, Outcomes, ShownContext, ask_alone, joined, scale_of, without
from .exchange import AskingTerms, Cell, JudgeQuestion, ParsedReply, exchange
from .mark import ReplyScore
from .reply import read_many
from .yes_no import question_of


def in_batches(axes: Mapping[str, Axis], size: int) -> Iterator[dict[str, Axis]]:
    """The axes in groups of `size`, the last perhaps smaller.

    >>> [list(batch) for batch in in_batches(dict.fromkeys("abcde", Axis()), 2)]
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    left = iter(axes.items())
    while batch := dict(islice(left, size)):
        yield batch


def batch_question(
    questions: AxisQuestions, axes: Mapping[str, Axis], shown: ShownContext, sighted: tuple[Cell, ...] | None
) -> JudgeQuestion:
    """The question about a batch of axes."""
    rubric, by_word = questions.rubric, questions.kind == "yes_no"
    numbers = {name: f"q{number}" for number, name in enumerate(axes, 1)}
    scales = {name: scale_of(rubric, name) for name in axes}
    forms: dict[str, shape.ReplyForm] = {
        name: AnswerSet({"yes": scales[name].max, "no": scales[name].min})
        if by_word
        else axis.answer_set or scales[name]
        for name, axis in axes.items()
    }
    examples, beside = questions.shared_examples(axes), questions.beside(axes)

    def form(cells: Collection[Cell]) -> shape.Shape:
        wanted = {numbers[name]: forms[name] for name in axes if (ONE, name) in cells}
        return shape.batch_shape(wanted, rubric.judging.reasons)

    def read(text: str) -> ParsedReply:
        own = without(shown.fence.cut(text), (examples, *beside))
        numbered = {numbers[name]: form for name, form in forms.items()}
        marks, _ = read_many(own, numbered, shown.quoted_beside(axes))
        found = {(ONE, name): marks[number] for name, number in numbers.items()}
        if by_word:  # the words are not labels of the rubric
            found = {
                cell: msgspec.structs.replace(mark, label="") if isinstance(mark, ReplyScore) else mark
                for cell, mark in found.items()
            }
        return ParsedReply(found)

    cells = tuple((ONE, name) for name in axes)
    asked = {f"{number}: {name}": name for name, number in numbers.items()}
    question_text = prompt.dimensions(
        {title: axes[name] for title, name in asked.items()}, {title: scales[name] for title, name in asked.items()}
    )
    if by_word:
        question_text = "\n\n".join(
            f"### {title}\n\n{question_of(name, axes[name])}\n\nAnswer with yes or no, as `answer`."
            for title, name in asked.items()
        )
    criterion = prompt.template("batch").fill_criterion(
        {
            "dimensions": question_text + joined(beside),
            "shape": shape.skeleton(form(cells)),
            "names": ", ".join(numbers.values()),
        }
    )
    return JudgeQuestion(
        questions.system("batch", examples),
        shown.text + criterion,
        cells,
        read,
        form,
        images=shown.material.images,
        suspicions=shown.signs,
        shared=shown.shared,
        sighted=sighted,
        repaired=False,
    )


class BatchTerms(msgspec.Struct, frozen=True):
    """How the axes that a batch leaves open are asked about."""

    alone: Callable[[str], JudgeQuestion]  # about one axis, by its name
    max_tokens: int  # of the reply to that

    async def __call__(self, ask: JudgeQuestion, terms: AskingTerms) -> Outcomes:
        """The outcomes of a batch, with what it left open asked about one by one."""
        if len(ask.cells) == 1:
            return await ask_alone(ask, terms)
        started = terms.clock()
        outcomes, answer = await exchange(ask, terms)
        if not answer.unread:
            return outcomes
        singly = msgspec.structs.replace(
            terms,
            max_tokens=self.max_tokens,
            deadline=None if terms.deadline is None else max(terms.deadline - (terms.clock() - started), 0.0),
        )
        names = [axis for _, axis in answer.unread]
        again = await _ask_singly([self.alone(name) for name in names], singly)
        return outcomes | {cell: _billed(outcomes[cell], outcome) for cell, outcome in again.items()}


async def _ask_singly(asks: Sequence[JudgeQuestion], terms: AskingTerms) -> Outcomes:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask_alone(ask, terms)) for ask in asks]
    return {cell: outcome for task in tasks for cell, outcome in task.result().items()}


def _billed(before: Score | Unscored, outcome: Score | Unscored) -> Score | Unscored:
    """What came of asking again, with what both questions cost; where nothing did, both say why."""
    costs = [cost for cost in (before.cost, outcome.cost) if cost is not None]
    reason = outcome.reason
    if isinstance(outcome, Unscored) and isinstance(before, Unscored) and not outcome.label:
        reason = f"{reason}; in a batch: {before.reason}"
    return msgspec.structs.replace(
        outcome,
        reason=reason,
        cost=total_cost(costs) if costs else None,
        duration_ms=before.duration_ms + outcome.duration_ms,
    )
