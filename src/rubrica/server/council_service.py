"""The council of a server: its models are connected on first use and shared by all requests.

Callers choose among these models and never name others: a name is an address, and may be a file. What they are told of
the models is a public name and the kind of trouble; addresses, paths and what a provider says stay in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubrica.council.events import Listener, ignore_event
from rubrica.council.members import Members, open_members
from rubrica.council.quote import StageQuote, StageQuoting, quote_stages, quote_verdict, total_quote
from rubrica.council.ranking import Pool
from rubrica.council.result import CouncilResult
from rubrica.council.session import run
from rubrica.council.settings import MOST_MEMBERS, CouncilSettings, Scoring, load_council
from rubrica.council.task_rubrics import AUTO
from rubrica.council.tiers import TIERS, Rounds, TierName, TokenLimit
from rubrica.council.verdict_mode import VerdictResult, reach_verdict
from rubrica.errors import InputError, RubricaError
from rubrica.extras import MissingExtraError
from rubrica.judges.quote import Quote
from rubrica.llm.budget import Price, load_price
from rubrica.llm.cache import CacheError, ReplyCache
from rubrica.llm.model import ChatMessage
from rubrica.llm.provider_table import check_form
from rubrica.llm.public import PublicModel, by_public_name, public_price
from rubrica.llm.settings import Settings, load_settings
from rubrica.llm.token_bounds import most_tokens
from rubrica.model.bounds import Label
from rubrica.model.context import LONGEST_TEXT
from rubrica.packs.library import bundled_rubrics, find

LOG = logging.getLogger("rubrica.server")
LONGEST = 100_000
"""Characters of a question with all that was said before it."""

MOST_AT_ONCE = 16
"""Sessions under way. One is a dozen calls, and what waits for its turn is dropped when its stage ends."""


class CouncilUnavailableError(RubricaError):
    """The council cannot meet now, through no fault of whoever asks."""


SeedNumber = Annotated[int, Field(ge=0, lt=2**53)]


class EarlierTurn(BaseModel):
    """Something that was said before the question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: Annotated[str, Field(max_length=LONGEST_TEXT)]


class CouncilRequest(BaseModel):
    """What is asked of a council, and how it shall be held. What is left out is as the server is set up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: Annotated[str, Field(max_length=LONGEST_TEXT)] = Field(
        description="what is asked", examples=["Why is the sky blue?"]
    )
    history: tuple[EarlierTurn, ...] = Field((), max_length=10_000, description="what was said before, oldest first")
    models: Annotated[tuple[Label, ...], Field(max_length=MOST_MEMBERS)] | None = Field(
        None, description="the members, among those of the server"
    )
    chair: Label | None = Field(None, description="who writes the final answer; left out: whoever ranks best")
    tier: TierName | None = Field(None, description="how long it may take: 20, 60, 180 or 600 seconds a stage")
    rubric: Label | None = Field(
        None, description="a bundled rubric that members review by; left out, or auto: as the question asks for"
    )
    scoring: Scoring | None = Field(None, description="by rubric, by one score for the whole, or both side by side")
    pool: Pool | None = Field(None, description="how reviewers' scores become one ranking")
    exclude_self: bool | None = Field(None, description="nobody reviews their own answer")
    weights: Annotated[dict[Label, Annotated[float, Field(ge=0, le=1)]], Field(max_length=200)] | None = Field(
        None, description="by dimension, in place of the rubric's own"
    )
    safety_gate: Literal[True] | None = Field(None, description="cap the score of answers with unsafe statements")
    seed: SeedNumber | None = Field(
        None, description="of labels and orders; replies to the same seed and question are kept for whoever asked"
    )
    max_tokens: TokenLimit | None = Field(None, description="of one answer; left out: as the tier says")
    review_tokens: TokenLimit | None = Field(None, description="of one review")
    final_tokens: TokenLimit | None = Field(None, description="of the final answer; left out: as the tier says")
    debate: Rounds | None = Field(None, description="rounds in which reviewers see each other's points")
    early: bool | None = Field(None, description="stop asking reviewers once none can change the winner")


class VerdictRequest(BaseModel):
    """What a council shall decide by yes or no. What is left out is as the server is set up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: Annotated[str, Field(max_length=LONGEST_TEXT)] = Field(
        description="what is decided", examples=["May this change be released?"]
    )
    models: Annotated[tuple[Label, ...], Field(max_length=MOST_MEMBERS)] | None = Field(
        None, description="who votes, among the models of the server"
    )
    tier: TierName | None = Field(None, description="how long it may take: 20, 60, 180 or 600 seconds a round")
    majority: Annotated[float, Field(ge=0.5, le=1)] = Field(0.5, description="of the votes, what a verdict needs")
    debate: Rounds | None = Field(None, description="rounds in which members read each other's reasons")
    max_tokens: TokenLimit | None = Field(None, description="of one vote; left out: 700")
    seed: SeedNumber | None = Field(
        None, description="replies to the same seed and question are kept for whoever asked, and found again"
    )

    def session(self) -> CouncilRequest:
        """The session in which it is decided."""
        return CouncilRequest(**self.model_dump(exclude={"majority"}))


class CouncilService:
    """One council of named models. `close` it when nobody asks any more."""

    def __init__(
        self,
        names: Sequence[str],
        base: CouncilSettings | None = None,
        *,
        models: Callable[[], Settings] = load_settings,
        discreet: bool = True,
        price: Price | None = None,  # None: that of the list
    ) -> None:
        self._base = base or load_council()
        for name in names:
            check_form(self._base.spec_of(name))
        self._names = by_public_name(names) if discreet else {name: name for name in names}
        self._models, self._discreet, self._price = models, discreet, price
        self._opening = asyncio.Lock()
        self._open = AsyncExitStack()
        self._members: Members | None = None
        self._kept: ReplyCache | None = None
        self._open_sessions = 0
        known = {name: alias for alias, name in self._names.items()}
        for name in self._base.roster:
            if name not in known:
                raise RubricaError(f"{name} is none of the council's models (there are {', '.join(known)})")
        self._seated = tuple(known[name] for name in self._base.models) or self.models
        self._chair = None if self._base.chair is None else known[self._base.chair]

    @property
    def models(self) -> tuple[str, ...]:
        """The models that may be asked, as callers name them."""
        return tuple(self._names)

    @property
    def tier(self) -> TierName:
        """How long a session may take where nothing else is asked for."""
        return self._base.tier

    def settings(self, request: CouncilRequest) -> CouncilSettings:
        """How the council is held for a request; an InputError says what it asks for that is not to be had here."""
        if not request.question.strip():
            raise InputError("question: there is none (send the question as text)")
        if len(request.question) + sum(len(turn.content) for turn in request.history) > LONGEST:
            raise InputError(f"question: with what was said before it has more than {LONGEST:,} characters")
        if request.rubric not in (None, AUTO) and find(request.rubric) is None:
            names = ", ".join(rubric.name for rubric in bundled_rubrics())
            raise InputError(f"rubric: {request.rubric!r} is not bundled (there are {names})")
        for name in (
            *(request.models or ()),
            *([request.chair] if request.chair is not None else []),
        ):
            if name not in self._names:
                raise InputError(f"models: there is no {name!r} here (there are {', '.join(self._names) or 'none'})")
        members = self._members_at(request.tier) if request.models is None else request.models
        if len(members) < 2:
            raise InputError(f"models: a council has at least two (there are {', '.join(self._names)})")
        chosen: dict[str, Any] = {
            name: value for name in CouncilSettings.model_fields if (value := getattr(request, name, None)) is not None
        }
        given = {name: getattr(self._base, name) for name in self._base.model_fields_set}
        given["reviewer_weights"] = {
            alias: self._base.reviewer_weights[name]
            for alias, name in self._names.items()
            if name in self._base.reviewer_weights
        }
        given.pop("access", None)  # members are connected already, and known by their public names
        if request.tier is not None:
            given.pop("deadline", None)  # the server's own was meant for its own tier
        fixed = {"models": members, "chair": request.chair or self._chair}
        return load_council(environ={}, options={**given, **chosen, **fixed})

    def _members_at(self, tier: TierName | None) -> tuple[str, ...]:
        """Who is a member at a tier, where a request names nobody."""
        change = self._base.tiers.get(tier or self._base.tier)
        if change is None or not change.models:
            return self._seated
        known = {name: alias for alias, name in self._names.items()}
        return tuple(known[name] for name in change.models)

    async def quote(self, request: CouncilRequest) -> Quote:
        """What a session costs at most. Nobody is asked."""
        return total_quote(await self.quote_stages(request))

    async def quote_stages(self, request: CouncilRequest) -> tuple[StageQuote, ...]:
        """The same by stage."""
        return await self._quote(quote_stages, request)

    async def quote_verdict(self, request: VerdictRequest) -> tuple[StageQuote, ...]:
        """What a verdict costs at most, by stage."""
        return await self._quote(quote_verdict, request.session())

    async def _quote(self, quoting: StageQuoting, request: CouncilRequest) -> tuple[StageQuote, ...]:
        settings = self.settings(request)
        price = await asyncio.to_thread(load_price, "a council") if self._price is None else self._price
        asked = most_tokens(request.question) + sum(most_tokens(turn.content) for turn in request.history)
        specs = [self._base.spec_of(self._names[alias]) for alias in settings.everybody]
        return quoting(settings, specs, asked, price)

    async def hear(
        self, request: CouncilRequest, on_event: Listener = ignore_event, *, owner: str | None = None
    ) -> CouncilResult:
        """Hold a session. A QuorumError says who did not answer; a ClosedError that there is no session now. Replies to
        a seed are kept for their owner; without one they are not."""
        settings = self.settings(request)
        async with self._seated_for(settings, owner) as members:
            history = [ChatMessage(turn.role, turn.content) for turn in request.history]
            return await run(request.question, settings, members, history=history, on_event=on_event)

    async def decide(
        self, request: VerdictRequest, on_event: Listener = ignore_event, *, owner: str | None = None
    ) -> VerdictResult:
        """Let the members vote; replies are kept as those of a session are."""
        settings = self.settings(request.session())
        async with self._seated_for(settings, owner) as members:
            return await reach_verdict(
                request.question, settings, members, majority=request.majority, on_event=on_event
            )

    @asynccontextmanager
    async def _seated_for(self, settings: CouncilSettings, owner: str | None) -> AsyncIterator[Members]:
        """The members for one session, of which so many are held at once."""
        if self._open_sessions >= MOST_AT_ONCE:
            raise CouncilUnavailableError(f"{MOST_AT_ONCE} councils are in session already (try again in a minute)")
        self._open_sessions += 1
        try:
            members = await self._ready()
            cache = None if settings.seed is None or owner is None else await self._reply_cache()
            yield members if cache is None else members.keeping(cache, owner or "")
        finally:
            self._open_sessions -= 1

    async def connect(self) -> None:
        """Connect the models now. Nobody is asked; a CouncilUnavailableError says what is wrong."""
        await self._ready()

    async def close(self) -> None:
        """Let go of every connection."""
        self._members = None
        await self._open.aclose()
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    async def _ready(self) -> Members:
        """The members, connected once. Their limits and the budget hold for all sessions together."""
        async with self._opening:
            if self._members is None:
                self._members = await self._connected()
            return self._members

    async def _reply_cache(self) -> ReplyCache | None:
        """The file of kept replies, opened when a seed first asks for it; None: there is none, all is asked anew."""
        path = self._models().cache
        async with self._opening:
            if self._kept is None and path is not None:
                try:
                    self._kept = await asyncio.to_thread(ReplyCache, path)
                except CacheError as error:
                    LOG.warning("replies are not kept by seed: %s", error)
            return self._kept

    async def _connected(self) -> Members:
        changed = [change.deadline for change in self._base.tiers.values() if change.deadline is not None]
        longest = max(self._base.seconds, *changed, *(tier.seconds for tier in TIERS.values()))
        try:
            await asyncio.to_thread(load_price, "a council")  # here, for connecting would read it in the event loop
            opened = await self._open.enter_async_context(
                open_members(list(self._names.values()), self._models(), seconds=longest, access=self._base.access)
            )
        except MissingExtraError as error:
            raise CouncilUnavailableError(str(error)) from error
        except RubricaError as error:
            LOG.error("the council's models cannot be connected: %s", error)
            detail = "the log says why" if self._discreet else str(error)
            raise CouncilUnavailableError(f"the council's models cannot be connected: {detail}") from None
        if self._price is not None:
            opened = replace(opened, price=self._price)
        if not self._discreet:
            return opened
        seats = {alias: PublicModel(alias, opened.models[name]) for alias, name in self._names.items()}
        price = None if opened.price is None else public_price(opened.price, self._names)
        specs = {alias: opened.spec(name) for alias, name in self._names.items()}
        identities = {
            alias: opened.identities[name] for alias, name in self._names.items() if name in opened.identities
        }
        return replace(opened, models=seats, price=price, specs=specs, identities=identities)
