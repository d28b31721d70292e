"""Questions about one axis each: all about one context begin alike, and differ in the criterion at their end.

So providers' prompt caches apply: what comes before the criterion is paid once, and then read for less.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal

import msgspec

from rubrica.llm.model import Reply, Usage
from rubrica.llm.prompt_cache import caches_for_less, fewest_cached_characters
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Unscored
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale

from . import prompt, shape
from .exchange import AskingTerms, Cell, JudgeQuestion, ParsedReply, exchange
from .fence import Fence, FencedPassage, JudgedTexts, TokenSource
from .reply import read_one
from .shown_examples import MOST_SHARED, shown_examples
from .shown_references import shown_references
from .yes_no import question_of, read_yes_no

ONE = ""
"""The label of a response that stands alone."""

PATIENCE = 0.25
"""Of a deadline that is spent on waiting for a first answer before the other questions are asked."""

MOST_FORMS = 1_000
"""Forms of replies that are kept."""

AskingKind = Literal["each", "yes_no"]
"""The prompts about a single axis."""


class AxisQuestion(msgspec.Struct, frozen=True):
    """What a question about one axis is, whatever the context."""

    name: str
    axis: Axis
    kind: AskingKind
    system: str  # the same for every axis of a rubric
    criterion: str  # how the user message ends
    scale: Scale
    form: shape.ReplyForm  # what is read: a number on the scale, or an answer
    schema: shape.Shape
    passages: tuple[FencedPassage, ...]  # what stands beside the material: a reply may repeat it

    def about(self, shown: ShownContext, sighted: tuple[Cell, ...] | None) -> JudgeQuestion:
        """The question about a context. `sighted` are the cells that need to be seen."""
        by_word = self.kind == "yes_no"
        return JudgeQuestion(
            self.system,
            shown.text + self.criterion,
            cells=((ONE, self.name),),
            read=self._read_word if by_word else partial(self._read, shown),
            weigh=self._weigh if by_word else None,
            shape=self._schema,
            images=shown.material.images,
            suspicions=shown.signs,
            shared=shown.shared,
            sighted=sighted,
        )

    def _schema(self, _cells: Collection[Cell]) -> shape.Shape:
        return self.schema

    def _read(self, shown: ShownContext, text: str) -> ParsedReply:
        own = without(shown.fence.cut(text), self.passages)
        mark = read_one(own, self.name, self.form, shown.quoted_beside({self.name: self.axis}))
        return ParsedReply({(ONE, self.name): mark})

    def _read_word(self, text: str) -> ParsedReply:
        return self._weigh(Reply(text, "", Usage()))

    def _weigh(self, reply: Reply) -> ParsedReply:
        return ParsedReply({(ONE, self.name): read_yes_no(reply, self.scale)})


class AxisQuestions:
    """The questions about the axes of a rubric, and about those that a case brings along. What is the same for all of
    them is written once.

    Examples of the rubric's own axes stand in the system message: all of them, so that it is the same whatever is asked
    about, or those of one axis where all are too long. Other axes bring their examples along, behind the material, and
    there stands the reference of what is asked about.
    """

    def __init__(self, rubric: Rubric, own: Callable[[], Mapping[str, Axis]], source: TokenSource) -> None:
        """`own` are the judged axes of the rubric."""
        self.kind: AskingKind = "yes_no" if rubric.judging.mode == "yes_no" else "each"
        self.rubric = rubric
        self._own, self._source = own, source
        self._kept: dict[str, AxisQuestion] = {}
        self._systems: dict[tuple[str, str], str] = {}
        self._forms: dict[object, tuple[shape.Shape, str]] = {}

    @cached_property
    def own(self) -> Mapping[str, Axis]:
        return self._own()

    @cached_property
    def examples(self) -> FencedPassage:
        """Of all axes of the rubric."""
        return self.examples_of(self.own)

    def examples_of(self, axes: Mapping[str, Axis]) -> FencedPassage:
        return shown_examples(axes, {name: scale_of(self.rubric, name) for name in axes}, self._source)

    def references_of(self, axes: Mapping[str, Axis]) -> FencedPassage:
        return shown_references(axes, self._source)

    def shared_examples(self, axes: Mapping[str, Axis]) -> FencedPassage:
        """The examples in the system message of a question about some axes."""
        if len(self.examples.text) <= MOST_SHARED:
            return self.examples
        return self.examples_of({name: axis for name, axis in axes.items() if name in self.own})

    def beside(self, axes: Mapping[str, Axis]) -> tuple[FencedPassage, ...]:
        """What stands behind the material, with the question: references, and examples that a case brings."""
        if not any(axis.reference or axis.examples for axis in axes.values()):  # as most criteria are
            return ()
        brought = {name: axis for name, axis in axes.items() if name not in self.own}
        found = (self.references_of(axes), self.examples_of(brought))
        return tuple(passage for passage in found if passage.text)

    def system(self, kind: Literal["each", "yes_no", "batch"], examples: FencedPassage) -> str:
        """The system message, the same for all questions of a kind that show the same examples."""
        key = (kind, examples.text)
        found = self._systems.get(key)
        if found is None:
            values = {
                "rubric": prompt.about(self.rubric),
                **prompt.reason_words(self.rubric),
                "shape": shape.skeleton(shape.yes_no_shape()),
                "examples": examples.text,
            }
            found = self._systems[key] = prompt.template(kind).fill_system(values)
        return found

    def of(self, name: str, axis: Axis) -> AxisQuestion:
        """The question about one axis."""
        found = self._kept.get(name)
        if found is not None and found.axis is axis:  # an axis of another case may be called the same
            return found
        scale = scale_of(self.rubric, name)
        given = axis.answer_set or scale
        form, skeleton = self._form(axis, given)
        beside = self.beside({name: axis})
        values = {
            "dimensions": prompt.dimensions({name: axis}, {name: scale}) + joined(beside),
            "question": question_of(name, axis) + joined(beside),
            "shape": skeleton,
            "names": name,
        }
        examples = self.shared_examples({name: axis})
        criterion = prompt.template(self.kind).fill_criterion(values)
        system = self.system(self.kind, examples)
        found = AxisQuestion(name, axis, self.kind, system, criterion, scale, given, form, (examples, *beside))
        if name in self.own:
            self._kept[name] = found
        return found

    def _form(self, axis: Axis, given: shape.ReplyForm) -> tuple[shape.Shape, str]:
        key = tuple(axis.answers.items()) if axis.answers else given
        found = self._forms.get(key)
        if found is None:
            form = shape.axis_shape(given, self.rubric.judging.reasons)
            if self.kind == "yes_no":
                form = shape.yes_no_shape()
            if len(self._forms) >= MOST_FORMS:
                self._forms.clear()
            found = self._forms[key] = form, shape.skeleton(form)
        return found


def scale_of(rubric: Rubric, name: str) -> Scale:
    """The scale of an axis; a part is scored on its dimension's, and so is a criterion of a case."""
    return rubric.axis_scales.get(name) or rubric.criteria_scale or rubric.scale


def joined(passages: Iterable[FencedPassage]) -> str:
    """Passages as they follow a text."""
    return "".join(f"\n\n{passage.text}" for passage in passages if passage.text)


def without(reply: str, passages: Iterable[FencedPassage]) -> str:
    """A reply without what it repeats of passages."""
    for passage in passages:
        reply = passage.cut(reply)
    return reply


class ShownContext(msgspec.Struct, frozen=True):
    """One context as all questions about it show it."""

    material: prompt.Material
    fence: Fence
    text: str  # the material between fences: how every user message begins
    shared: int | msgspec.UnsetType  # its length, where several questions begin so
    signs: Mapping[str, tuple[str, ...]]

    def quoted_beside(self, axes: Mapping[str, Axis]) -> JudgedTexts:
        """What a reply may quote: the material, and the references of what is asked about."""
        return self.material.quoted.beside(axis.reference for axis in axes.values() if axis.reference)

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


Outcomes = dict[Cell, Score | Unscored]
AskOne = Callable[[JudgeQuestion, AskingTerms], Coroutine[Any, Any, Outcomes]]
"""Asks one question, and tells the outcomes of its cells."""


async def ask_alone(ask: JudgeQuestion, terms: AskingTerms) -> Outcomes:
    """The outcomes of one question that is about one axis."""
    outcomes, _ = await exchange(ask, terms)
    return outcomes


async def exchange_each(asks: Sequence[JudgeQuestion], terms: AskingTerms, ask_one: AskOne = ask_alone) -> Outcomes:
    """The outcomes of several questions that begin alike: all at once, or the first alone where that is cheaper."""
    first, *others = asks
    if others and _read_for_less(first, terms):
        return await _first_alone(asks, terms, ask_one)
    async with asyncio.TaskGroup() as group:  # cancelled, it waits until its calls have ended
        tasks = [group.create_task(ask_one(ask, terms)) for ask in others]
        outcomes = await ask_one(first, terms)  # in this task, which would only wait for the others
    for task in tasks:
        outcomes |= task.result()
    return outcomes


def _read_for_less(ask: JudgeQuestion, terms: AskingTerms) -> bool:
    """Whether questions that begin as this one does become cheaper by its having been asked."""
    if terms.price is None or not isinstance(ask.shared, int):
        return False
    name = terms.model.name
    return len(ask.system) + ask.shared >= fewest_cached_characters(name) and caches_for_less(name, terms.price)


async def _first_alone(asks: Sequence[JudgeQuestion], terms: AskingTerms, ask_one: AskOne) -> Outcomes:
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
        tasks = [group.create_task(ask_one(first, terms)) for first in firsts]
        await asyncio.wait(tasks, timeout=None if limit is None else PATIENCE * limit)
        if limit is not None:
            terms = msgspec.structs.replace(terms, deadline=limit - (terms.clock() - started))
        tasks += [group.create_task(ask_one(ask, terms)) for ask in others]
    return {cell: outcome for task in tasks for cell, outcome in task.result().items()}
