"""Questions about one axis each: all about one context begin alike, and differ in the criterion at their end.

So providers' prompt caches apply: what comes before the criterion is paid once, and then read for less.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec

from rubrica.llm.model import Reply, Usage
from rubrica.llm.prompt_cache import kept_from, reads_for_less
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Unscored
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale

from . import prompt, shape
from .exchange import AskingTerms, Cell, JudgeQuestion, ParsedReply, exchange
from .fence import Fence, TokenSource
from .reply import read_one
from .yes_no import question_of, read_yes_no

ONE = ""
"""The label of a response that stands alone."""

PATIENCE = 0.25
"""Of a deadline that is spent on waiting for a first answer before the other questions are asked."""

AskingKind = Literal["each", "yes_no"]
"""The prompts about a single axis."""


class AxisQuestion(msgspec.Struct, frozen=True):
    """What a question about one axis is, whatever the context."""

    name: str
    kind: AskingKind
    system: str  # the same for every axis of a rubric
    criterion: str  # how the user message ends
    scale: Scale
    form: shape.ReplyForm  # what is read: a number on the scale, or an answer
    shape: Callable[[Collection[Cell]], shape.Shape]

    @classmethod
    def of(cls, kind: AskingKind, rubric: Rubric, name: str, axis: Axis, scale: Scale) -> AxisQuestion:
        template = prompt.template(kind)
        given = axis.answer_set or scale
        form = shape.yes_no_shape() if kind == "yes_no" else shape.axis_shape(given, rubric.judging.reasons)
        values = {
            "rubric": prompt.about(rubric),
            **prompt.reason_words(rubric),
            "dimensions": prompt.dimensions({name: axis}, {name: scale}),
            "question": question_of(name, axis),
            "shape": shape.skeleton(form),
            "names": name,
        }
        system, criterion = template.fill_system(values), template.fill_criterion(values)
        return cls(name, kind, system, criterion, scale, given, lambda _: form)

    def about(self, shown: ShownContext, sighted: tuple[Cell, ...] | None) -> JudgeQuestion:
        """The question about a context. `sighted` are the cells that need to be seen."""
        by_word = self.kind == "yes_no"
        return JudgeQuestion(
            self.system,
            shown.text + self.criterion,
            cells=((ONE, self.name),),
            read=self._read_word if by_word else partial(self._read, shown),
            weigh=self._weigh if by_word else None,
            shape=self.shape,
            images=shown.material.images,
            suspicions=shown.signs,
            shared=shown.shared,
            sighted=sighted,
        )

    def _read(self, shown: ShownContext, text: str) -> ParsedReply:
        mark = read_one(shown.fence.cut(text), self.name, self.form, shown.material.quoted)
        return ParsedReply({(ONE, self.name): mark})

    def _read_word(self, text: str) -> ParsedReply:
        return self._weigh(Reply(text, "", Usage()))

    def _weigh(self, reply: Reply) -> ParsedReply:
        return ParsedReply({(ONE, self.name): read_yes_no(reply, self.scale)})


class ShownContext(msgspec.Struct, frozen=True):
    """One context as all questions about it show it."""

    material: prompt.Material
    fence: Fence
    text: str  # the material between fences: how every user message begins
    shared: int | msgspec.UnsetType  # its length, where several questions begin so
    signs: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        kind: AskingKind,
        material: prompt.Material,
        source: TokenSource,
        signs: Mapping[str, tuple[str, ...]],
        *,
        several: bool,
    ) -> ShownContext:
        """`several` says whether more than one question is asked about it."""
        fence = material.fence(source)
        text = prompt.template(kind).fill_user({"token": fence.token, "material": material.between(fence)})
        return cls(material, fence, text, len(text) if several else msgspec.UNSET, signs)


async def exchange_each(asks: Sequence[JudgeQuestion], terms: AskingTerms) -> dict[Cell, Score | Unscored]:
    """The outcomes of several questions that begin alike: all at once, or the first alone where that is cheaper."""
    first, *others = asks
    if others and _read_for_less(first, terms):
        return await _first_alone(asks, terms)
    async with asyncio.TaskGroup() as group:  # cancelled, it waits until its calls have ended
        tasks = [group.create_task(exchange(ask, terms)) for ask in others]
        outcomes, _ = await exchange(first, terms)  # in this task, which would only wait for the others
    for task in tasks:
        outcomes |= task.result()[0]
    return outcomes


def _read_for_less(ask: JudgeQuestion, terms: AskingTerms) -> bool:
    """Whether questions that begin as this one does become cheaper by its having been asked."""
    if terms.price is None or not isinstance(ask.shared, int):
        return False
    name = terms.model.name
    return len(ask.system) + ask.shared >= kept_from(name) and reads_for_less(name, terms.price)


async def _first_alone(asks: Sequence[JudgeQuestion], terms: AskingTerms) -> dict[Cell, Score | Unscored]:
    """The first fills the provider's prompt cache, and the others read it; started together, none would find it.

    The form of the reply comes before all else in what a provider keeps, so each form has its first.
    """
    forms: dict[str, JudgeQuestion] = {}
    for ask in asks:
        forms.setdefault(str(ask.shape(ask.cells)), ask)
    firsts = list(forms.values())
    others = [ask for ask in asks if not any(ask is first for first in firsts)]
    limit, started = terms.deadline, terms.clock()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(exchange(first, terms)) for first in firsts]
        await asyncio.wait(tasks, timeout=None if limit is None else PATIENCE * limit)
        if limit is not None:
            terms = msgspec.structs.replace(terms, deadline=limit - (terms.clock() - started))
        tasks += [group.create_task(exchange(ask, terms)) for ask in others]
    return {cell: outcome for task in tasks for cell, outcome in task.result()[0].items()}
