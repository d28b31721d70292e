"""Which of a file's cases are judged: those that fit a filter, a sample of them, the first of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from heapq import nsmallest
from typing import Any

import msgspec
from msgspec.structs import replace

from rubrica.engine.cases import BadLine, Case
from rubrica.errors import ContextError, FormulaError, FormulaFault, RubricaError
from rubrica.formula import Formula, parse
from rubrica.model.context import Context, refuse_files
from rubrica.scorers.namespace import CONTEXT_COUNTS
from rubrica.text import text_features
from rubrica.text.texts import Texts

from .files.evaluation_head import key_of
from .files.hash_table import HashTable

Found = Case | BadLine
_PAIR = re.compile(r"\s*([\w.-]+)\s*(!?=)(?!=)\s*(.*?)\s*", re.DOTALL)
_WORD = re.compile(r"[\w./:#@-]+")
_ALL = 1 << 64


class CaseSample(msgspec.Struct, frozen=True):
    """So many cases, or such a share of them. Whether a case belongs depends on its id and the seed alone, so a file
    that grows keeps most of its sample."""

    count: int | None = None
    below: int = _ALL  # cases whose number is lower
    seed: int = 0

    @property
    def share(self) -> float:
        return self.below / _ALL

    def number(self, case: Case) -> int:
        return key_of(f"{self.seed} {case.id}")


class CaseFilter(msgspec.Struct, frozen=True):
    """A condition on cases: a name and its value, a formula, or a stretch of the id."""

    text: str
    fits: Callable[[Case], bool]


class Selection(msgspec.Struct, frozen=True):
    """Filters first, then the sample, then the limit. Lines that are no cases are passed on."""

    filters: tuple[CaseFilter, ...] = ()
    sample: CaseSample | None = None
    limit: int | None = None

    def of(self, found: Iterable[Found]) -> Iterator[Found]:
        taken = 0
        for item in found:
            if isinstance(item, Case):
                if not all(condition.fits(item) for condition in self.filters):
                    continue
                if self.sample is not None and self.sample.number(item) >= self.sample.below:
                    continue
                taken += 1
            yield item
            if taken == self.limit:
                return

    def expected(self, cases: int | None) -> int | None:
        """About how many of so many cases are chosen, where no filter is set; None where their number is not known.

        >>> Selection(sample=sample_of("5%", seed=0), limit=40).expected(1000)
        40
        """
        if cases is None:
            return None
        if (sample := self.sample) is not None:
            cases = min(cases, sample.count) if sample.count is not None else round(cases * sample.share)
        return cases if self.limit is None else min(cases, self.limit)

    @property
    def needs_two_passes(self) -> bool:
        return self.sample is not None and self.sample.count is not None

    def settled(self, found: Iterable[Found]) -> Selection:
        """The same with a sample of so many cases turned into a share of them, after a look at all of them."""
        sample = self.sample
        if sample is None or sample.count is None:
            return self
        fitting = Selection(self.filters).of(found)
        numbers = nsmallest(sample.count, (sample.number(item) for item in fitting if isinstance(item, Case)))
        below = _ALL if len(numbers) < sample.count else numbers[-1] + 1
        return replace(self, sample=replace(sample, count=None, below=below))


def sample_of(text: str, seed: int) -> CaseSample:
    """A sample as an option says it.

    >>> sample_of("200", seed=1).count, sample_of("2.5%", seed=1).share
    (200, 0.025)
    """
    try:
        if text.endswith("%") and 0 < float(text[:-1]) <= 100:
            return CaseSample(below=int(float(text[:-1]) / 100 * _ALL), seed=seed)
        if int(text) > 0:
            return CaseSample(count=int(text), seed=seed)
    except ValueError:
        pass
    raise RubricaError(f"--sample {text!r}: write how many cases, such as 200, or a share of them, such as 5%")


def filter_of(text: str) -> CaseFilter:
    """A filter as an option says it.

    ``grade=4`` or ``subject!=math``: a piece of metadata, a metric, id, rubric or expect; ``*`` stands for any text.
    ``word_count > 100 and grade >= 4``: a formula over numbers of the case and features of its text.
    ``algebra``: a stretch of the id, in any case.

    >>> case = Case("algebra-7", 1, Context.of({"response": "x is 3", "grade": 4}))
    >>> [filter_of(text).fits(case) for text in ("grade=4", "grade!=4", "word_count > 2", "Algebra", "id=geo*")]
    [True, False, True, True, False]
    """
    pair = _PAIR.fullmatch(text)
    if pair is not None:
        name, sign, wanted = pair.groups()
        return CaseFilter(text, lambda case: fnmatchcase(_format_value(_value(case, name)), wanted) == (sign == "="))
    if _WORD.fullmatch(text):
        word = text.casefold()
        return CaseFilter(text, lambda case: word in case.id.casefold())
    try:
        formula = parse(text)
    except FormulaError as error:
        raise RubricaError(f"--filter {text!r}: {error}; for a text write name=value") from None
    return CaseFilter(text, lambda case: _holds(formula, case))


def distinct(found: Iterable[Found], on_duplicate: Callable[[Case], None]) -> Iterator[Found]:
    """Cases with ids of their own: the second case called ``x`` becomes ``x#2``. The first such case is told."""
    names = UniqueNames()
    told = False
    for item in found:
        if isinstance(item, Case):
            own = names.own(item.id)
            if own != item.id:
                if not told:
                    on_duplicate(item)
                    told = True
                item = replace(item, id=own)
        yield item


def without_files(found: Iterable[Found]) -> Iterator[Found]:
    """Cases whose pictures are given by address or as data; one that names a file of this machine is a broken line."""
    for item in found:
        try:
            if isinstance(item, Case):
                refuse_files(item.context)
        except ContextError as error:
            yield BadLine(item.line, str(error))
        else:
            yield item


class UniqueNames:
    """Gives every case a name that no case before it has.

    >>> names = UniqueNames()
    >>> [names.own(id_) for id_ in ("x", "x", "y", "x#2", "x")]
    ['x', 'x#2', 'y', 'x#2#2', 'x#3']
    """

    def __init__(self) -> None:
        self._met = HashTable()  # how often an id was met

    def own(self, id_: str) -> str:
        key = key_of(id_)
        times = self._met.get(key) or 0
        self._met.put(key, times + 1)
        return self._free(id_, times + 1) if times else id_

    def _free(self, id_: str, number: int) -> str:
        while self._met.get(key_of(f"{id_}#{number}")) is not None:
            number += 1
        self._met.put(key_of(f"{id_}#{number}"), 1)
        return f"{id_}#{number}"


def _value(case: Case, name: str) -> Any:
    match name:
        case "id":
            return case.id
        case "rubric":
            return case.rubric
        case "expect" | "expect.verdict":
            return (case.expect or {}).get("verdict")
        case "prompt" | "response" | "session_id":
            return getattr(case.context, name)
    return case.context.lookup(name.removeprefix("metadata.").removeprefix("custom_metrics."))


def _format_value(value: Any) -> str:
    """A value as one writes it in a filter: JSON's true, false and null, numbers without needless zeros."""
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case float() if value.is_integer():
            return str(int(value))
    return str(value)


class _Numbers(dict[str, object]):
    """The names of a formula over one case, worked out when they are read."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    def __missing__(self, name: str) -> object:
        context = self._context
        found: object = context.lookup(name)
        if found is None and name in text_features():
            found = text_features()[name].compute(Texts(context.prompt, context.response, context.history))
        elif found is None and name in CONTEXT_COUNTS:
            found = CONTEXT_COUNTS[name][1](context)
        self[name] = found
        return found


def _holds(formula: Formula, case: Case) -> bool:
    """A case without a number that the formula reads does not fit."""
    try:
        return formula.holds(_Numbers(case.context))
    except FormulaFault:
        return False
