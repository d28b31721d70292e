"""Scenarios: what users say to a companion, group by group, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rubrica.engine.document import read_document
from rubrica.errors import RubricaError
from rubrica.model.bounds import Label, Prose
from rubrica.model.context import Message

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


class SuiteCase(BaseModel):
    """One case as a suite writes it: what the user says, in one turn or several, and what went before."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id
    says: Text | None = Field(None, description="the user's only turn")
    turns: tuple[Text, ...] = Field((), max_length=MOST_TURNS, description="the user's turns; each gets a reply")
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
    suites = [_suite(name) for name in names or GROUPS]
    found = [scenario for suite in suites for scenario in scenarios_of(suite)]
    if len(found) > MOST_CASES:
        raise RubricaError(f"{len(found):,} scenarios, variants counted (at most {MOST_CASES:,}; name fewer suites)")
    twice = next((name for name, times in Counter(one.id for one in found).items() if times > 1), None)
    if twice is not None:
        raise RubricaError(f"two scenarios are called {twice!r}; give each suite and each case its own name")
    return found


def scenarios_of(suite: Suite) -> Iterable[Scenario]:
    """Every conversation of a suite, variants included."""
    for case in suite.cases:
        for variant in case.variants or (None,):
            yield Scenario(
                id="/".join([suite.name, case.id, *([variant.id] if variant is not None else [])]),
                group=suite.name,
                title=suite.title or suite.name,
                turns=case.turns or (case.says or "",),
                earlier=tuple(message for exchange in case.earlier for message in _messages(exchange)),
                looks_for=" ".join(suite.looks_for.split()),
                about=(variant.about if variant is not None else "") or case.about,
                age_group=(variant.age_group if variant is not None else None) or case.age_group,
                tests=(variant.tests if variant is not None else None) or case.tests,
            )


def _messages(exchange: PastTurn) -> tuple[Message, Message]:
    return Message(role="user", content=exchange.user), Message(role="assistant", content=exchange.assistant)


def _suite(name: str) -> Suite:
    if name in GROUPS:
        place: Traversable | Path = files("rubrica.companion") / "suites" / f"{name}.yaml"
    else:
        place = Path(name)
        if place.suffix not in (".yaml", ".yml", ".json"):
            near = get_close_matches(name, GROUPS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"bundled: {', '.join(GROUPS)}; or give a .yaml file"
            raise RubricaError(f"there are no scenarios called {name!r}; {hint}")
    try:
        return Suite.model_validate(read_document(place.read_text(encoding="utf-8"), name).data)
    except OSError as error:
        raise RubricaError(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RubricaError(f"{name} is not UTF-8 text at byte {error.start}") from None
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'suite'}: {e['msg']}" for e in error.errors()[:5])
        raise RubricaError(f"{name} is not a suite of scenarios: {faults}") from None
