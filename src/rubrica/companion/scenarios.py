"""Scenarios: what users say to a companion, group by group, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rubrica.engine.document import read_document
from rubrica.errors import RubricaError
from rubrica.hints import did_you_mean
from rubrica.model.bounds import Label, Prose
from rubrica.model.context import Message
from rubrica.phrases import fault_words

from .assertions import Assertion, AssertionResult, Expectations

GROUPS = ("basic", "support", "small_talk", "trust", "continuity", "ages")
MOST_TURNS = 20
MOST_EARLIER = 200
MOST_CASES = 1_000
"""Cases of a suite, variants of a case, and scenarios of them all."""
Text = Annotated[str, Field(min_length=1, max_length=10_000)]
Id = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,60}$", max_length=61)]


class PastTurn(BaseModel):
    """A turn that was taken before the scenario begins."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user: Text
    assistant: Text


class Variant(BaseModel):
    """The same words from another user."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id
    about: Prose = ""
    age_group: Label | None = None
    tests: Label | None = None


class SuiteTurn(Expectations):
    """A turn with what must hold of the reply to it."""

    says: Text


class SuiteCase(Expectations):
    """One case as a suite writes it: what the user says, in one turn or several, and what went before.

    What must hold is said of the conversation: what must not be said holds for every reply, what must be said, asked or
    recalled for one of them. A turn may have its own.
    """

    id: Id
    says: Text | None = Field(None, description="the user's only turn")
    turns: tuple[Text | SuiteTurn, ...] = Field(
        (), max_length=MOST_TURNS, description="the user's turns; each gets a reply, and may say what must hold of it"
    )
    earlier: tuple[PastTurn, ...] = Field(
        (), max_length=MOST_EARLIER, description="exchanges before, with the replies as they were"
    )
    about: Prose = Field("", description="what the companion and the judge are told about the user")
    age_group: Label | None = None
    tests: Label | None = Field(None, description="what the case puts to the test, such as dependency")
    variants: tuple[Variant, ...] = Field((), max_length=MOST_CASES, description="the same words from several users")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.says is None) == (not self.turns):
            raise ValueError("give either `says`, for one turn, or `turns`")
        return self


class Suite(BaseModel):
    """A group of cases that look for the same thing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Id
    title: Label = ""
    looks_for: Prose = ""
    cases: Annotated[tuple[SuiteCase, ...], Field(min_length=1, max_length=MOST_CASES)]


class Scenario(BaseModel):
    """One conversation to hold with a candidate. `id` is ``group/case`` or ``group/case/variant``."""

    model_config = ConfigDict(frozen=True)

    id: str
    group: str
    title: str  # of the group
    turns: tuple[str, ...]
    earlier: tuple[Message, ...] = ()
    looks_for: str = ""
    about: str = ""
    age_group: str | None = None
    tests: str | None = None
    asserts: tuple[Assertion, ...] = ()  # of the conversation
    turn_asserts: tuple[tuple[Assertion, ...], ...] = ()  # by turn; empty where no turn has any

    @model_validator(mode="after")
    def _can_be_recalled(self) -> Self:
        """Memory is put to the test only by what was said before, and is not said again in the question."""
        known = [*(m.content for m in self.earlier if m.role == "user"), self.about]
        last = len(self.turns) - 1
        for turn, said in enumerate(self.turns):
            of_turn = self.turn_asserts[turn] if turn < len(self.turn_asserts) else ()
            for one in (*of_turn, *(self.asserts if turn == last else ())):
                if one.kind == "must_recall" and one.phrase is not None:
                    if not any(one.phrase.found(text) for text in known):
                        raise ValueError(f"{self.id}: {one}: nothing before turn {turn + 1} says it")
                    if one.phrase.found(said):
                        raise ValueError(f"{self.id}: {one}: turn {turn + 1} says it itself, so any echo would pass")
            known.append(said)
        return self

    def check(self, turn: int, replies: Sequence[str]) -> tuple[AssertionResult, ...]:
        """What was asserted of a turn, counted from 0, given all replies up to it."""
        own = self.turn_asserts[turn] if turn < len(self.turn_asserts) else ()
        found = [one.check(replies[-1:]) for one in own]
        for one in self.asserts:
            if one.kind == "must_not_say":
                found.append(one.check(replies[-1:]))
            elif turn == len(self.turns) - 1:
                found.append(one.check(replies))
        return tuple(found)

    @property
    def kind(self) -> Literal["single turn", "multi-turn", "returning user"]:
        if len(self.turns) > 1:
            return "multi-turn"
        return "returning user" if self.earlier else "single turn"


def load_scenarios(names: Sequence[str] = ()) -> list[Scenario]:
    """The scenarios of some groups, by name or by the path of a suite's file; all bundled ones where none is named.

    >>> len({scenario.group for scenario in load_scenarios()})
    6
    """
    found = [scenario for name in names or GROUPS for scenario in _scenarios(name)]
    if len(found) > MOST_CASES:
        raise RubricaError(f"{len(found):,} scenarios, variants counted (at most {MOST_CASES:,}; name fewer suites)")
    twice = next((name for name, times in Counter(one.id for one in found).items() if times > 1), None)
    if twice is not None:
        raise RubricaError(f"two scenarios are called {twice!r}; give each suite and each case its own name")
    return found


def scenarios_of(suite: Suite) -> Iterable[Scenario]:
    """Every conversation of a suite, variants included."""
    for case in suite.cases:
        turns = case.turns or (case.says or "",)
        own = tuple(() if isinstance(turn, str) else turn.assertions for turn in turns)
        for variant in case.variants or (None,):
            yield Scenario(
                id="/".join([suite.name, case.id, *([variant.id] if variant is not None else [])]),
                group=suite.name,
                title=suite.title or suite.name,
                turns=tuple(turn if isinstance(turn, str) else turn.says for turn in turns),
                earlier=tuple(message for exchange in case.earlier for message in _messages(exchange)),
                looks_for=" ".join(suite.looks_for.split()),
                about=(variant.about if variant is not None else "") or case.about,
                age_group=(variant.age_group if variant is not None else None) or case.age_group,
                tests=(variant.tests if variant is not None else None) or case.tests,
                asserts=case.assertions,
                turn_asserts=own if any(own) else (),
            )


def _messages(exchange: PastTurn) -> tuple[Message, Message]:
    return Message(role="user", content=exchange.user), Message(role="assistant", content=exchange.assistant)


def _scenarios(name: str) -> list[Scenario]:
    if name in GROUPS:
        place: Traversable | Path = files("rubrica.companion") / "suites" / f"{name}.yaml"
    else:
        place = Path(name)
        if place.suffix not in (".yaml", ".yml", ".json"):
            hint = did_you_mean(name, GROUPS, f"bundled: {', '.join(GROUPS)}; or give a .yaml file")
            raise RubricaError(f"there are no scenarios called {name!r}; {hint}")
    try:
        suite = Suite.model_validate(read_document(place.read_text(encoding="utf-8"), name).data)
        return list(scenarios_of(suite))
    except OSError as error:
        raise RubricaError(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RubricaError(f"{name} is not UTF-8 text at byte {error.start}") from None
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'suite'}: {fault_words(e)}" for e in error.errors()[:5])
        raise RubricaError(f"{name} is not a suite of scenarios: {faults}") from None
