"""The tools of the MCP server: asking a council, judging by a rubric, the rubrics themselves, and whether all is well.

The models, the judge and the rubrics are those the server was started with, or those of a Rubrica server as the user
of a key sees them. An agent reads other people's text, which
may tell it what to ask for: so it chooses by name, and never gives an address or a path.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any, assert_never

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from rubrica import __version__
from rubrica.council.events import (
    AnswerReceived,
    Concluded,
    DebateStarted,
    Event,
    FinalWriting,
    Listener,
    MemberDropped,
    Ranked,
    ReviewerCancelled,
    ReviewFinished,
    StageFinished,
    StageStarted,
)
from rubrica.council.tiers import Rounds, TierName
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.errors import InputError, RubricaError
from rubrica.judges.jury import Jury
from rubrica.model.context import Context as Judgeable
from rubrica.model.context import refuse_files
from rubrica.workspace.spending import MAX_CALLS

from .council_service import CouncilRequest, CouncilService, SeedNumber, VerdictRequest
from .mcp_arguments import offered_tool
from .mcp_rubrics import LocalRubrics, StoredRubrics, rubric_data
from .mcp_shapes import (
    Advice,
    EvaluationReply,
    HealthReply,
    RubricReply,
    RubricsReply,
    TokenLimits,
    VerdictReply,
    advice_of,
    judged_of,
    verdict_of,
)

MYSELF = ""
"""The owner of kept replies: whoever runs the command, as for `rubrica council`."""
LAST_EVENTS_SECONDS = 2.0
"""So long a result waits for a client that does not take the last events."""
NO_COUNCIL = "this server has no council (start it with `rubrica mcp --models A,B,C`)"
INSTRUCTIONS = (
    "council puts a question to several models that review each other, and returns the chair's answer with the "
    "ranking behind it: for questions that matter, as it takes a minute and costs a dozen calls. verdict has them vote "
    "yes or no, which takes one call each. judge scores a "
    "response by a rubric and explains every point; rubrics lists those that may be named, and rubric shows one. "
    "health says what is there and what is wrong."
)
COUNCIL = (
    "Ask several language models the same question. Each answers, reviews the others' answers by rubric without "
    "knowing who wrote them, and a chair writes the final answer from the ranked ones. It takes up to three times the "
    "seconds of its tier. "
)
VERDICT = (
    "Have several language models decide a question by yes or no: the votes with their reasons, how sure they are, and "
    "the dissent. It is undecided where they are tied, too few vote, or the majority is missed. "
)
JUDGE = (
    "Score a response by a rubric: the verdict, the score, each dimension with its reason, and the gates that fired. "
)
RUBRICS = "The rubrics that judge takes, with what each is for."
RUBRIC = "One rubric as its author wrote it: what it asks, weighs and decides."
HEALTH = "What this server offers, as whom, and what is wrong with it. No model is asked."
Question = Annotated[str, Field(description="what is asked, with all that is needed to answer it")]
Members = Annotated[
    list[str] | None, Field(description="at least two of the models named above; left out: the server's council")
]
TierChoice = Annotated[
    TierName | None,
    Field(description="seconds for each stage: quick 20, balanced 60, high 180, reasoning 600; left out: the server's"),
]
TokenChoice = Annotated[
    TokenLimits | None, Field(description="the most tokens of each answer, each review and the final answer")
]
SeedChoice = Annotated[
    SeedNumber | None,
    Field(
        description="a number; the same question with the same one is answered from what was kept, and costs nothing"
    ),
]
MajorityChoice = Annotated[float, Field(ge=0.5, le=1, description="the share of the votes that a verdict needs")]
DebateChoice = Annotated[
    Rounds | None, Field(description="rounds in which members read each other's reasons and may change their vote")
]
RubricName = Annotated[str, Field(description="the name of a rubric", examples=["answer-quality"])]
ResponseText = Annotated[str, Field(description="the text to judge")]
PromptText = Annotated[str, Field(description="what was asked for; rubrics judge better when they know it")]
Known = Annotated[
    dict[str, Any] | None,
    Field(description="what else a rubric reads", examples=[{"question_type": "FACTUAL"}]),
]


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of one server. Whoever made the council and the jury closes them."""

    local: LocalRubrics
    council_service: CouncilService | None = None
    jury: Jury | None = None
    stored: StoredRubrics | None = None  # of a Rubrica server, as the user of a key sees them

    async def council(
        self,
        question: Question,
        ctx: Context,
        models: Members = None,
        tier: TierChoice = None,
        tokens: TokenChoice = None,
        seed: SeedChoice = None,
    ) -> Advice:
        """A session of the council."""
        with reporting_errors():
            council = self._council()
            limits = tokens or TokenLimits()
            request = CouncilRequest(
                question=question,
                models=None if models is None else tuple(models),
                tier=tier,
                max_tokens=limits.answers,
                review_tokens=limits.reviews,
                final_tokens=limits.final,
                seed=seed,
            )
            async with progress(ctx) as listener:
                return advice_of(await council.hear(request, listener, owner=MYSELF))

    async def verdict(
        self,
        question: Question,
        ctx: Context,
        models: Members = None,
        tier: TierChoice = None,
        majority: MajorityChoice = 0.5,
        debate: DebateChoice = None,
        seed: SeedChoice = None,
    ) -> VerdictReply:
        """A vote of the council."""
        with reporting_errors():
            council = self._council()
            request = VerdictRequest(
                question=question,
                models=None if models is None else tuple(models),
                tier=tier,
                majority=majority,
                debate=debate,
                seed=seed,
            )
            async with progress(ctx) as listener:
                return verdict_of(await council.decide(request, listener, owner=MYSELF))

    def _council(self) -> CouncilService:
        if self.council_service is None:
            raise InputError(NO_COUNCIL)
        return self.council_service

    async def judge(
        self, rubric: RubricName, response: ResponseText, prompt: PromptText = "", context: Known = None
    ) -> EvaluationReply:
        """One response under one rubric."""
        with reporting_errors():
            given = {**(context or {}), "response": response, **({"prompt": prompt} if prompt else {})}
            seen = refuse_files(Judgeable.of(given))
            if self.stored is not None and not self.local.has_file(rubric):
                return judged_of(await self.stored.judge(rubric, seen))
            chosen = self.local.load(rubric)
            if self.jury is not None and (calls := self.jury.calls(chosen, seen)) > MAX_CALLS:
                raise InputError(f"{rubric} takes up to {calls:,} calls to models; an agent may ask for {MAX_CALLS:,}")
            judge = self.jury.judge(chosen) if self.jury is not None else None
            return judged_of(await aevaluate(compile_rubric(chosen, judge), seen))

    async def rubrics(self) -> RubricsReply:
        """Everything that may be named."""
        with reporting_errors():
            if self.stored is None:
                return RubricsReply(rubrics=self.local.lines(), more=False)
            found, more = await self.stored.lines()
            return RubricsReply(rubrics=[*self.local.file_lines(), *found], more=more)

    async def rubric(self, name: RubricName) -> RubricReply:
        """One rubric."""
        with reporting_errors():
            if self.stored is not None and not self.local.has_file(name):
                return await self.stored.show(name)
            found = self.local.load(name)
            return RubricReply(name=found.name, version=found.version, definition=rubric_data(found))

    async def health(self) -> HealthReply:
        """What is there, and what is wrong."""
        problems: list[str] = []
        models = [] if self.council_service is None else list(self.council_service.models)
        if self.council_service is not None:
            try:
                await self.council_service.connect()
            except RubricaError as error:
                problems.append(str(error))
        server = user = None
        if self.stored is not None:
            server = self.stored.address
            try:
                user = await self.stored.user()
            except RubricaError as error:
                problems.append(str(error))
        return HealthReply(
            ok=not problems,
            version=__version__,
            models=models,
            judged_by_models=self.jury is not None,
            server=server,
            user=user,
            problems=problems,
        )


def mcp_server(tools: Tools) -> MCPServer:
    """A server that offers the tools."""
    there = ", ".join(tools.council_service.models) if tools.council_service is not None else "none: " + NO_COUNCIL
    judge = (
        "A judge scores what asks for one." if tools.jury is not None else "No model is asked: scored by code alone."
    )
    named = f"{judge} Rubrics: {', '.join(tools.local.names())}."
    if tools.stored is not None:
        named = f"Rubrics are those of {tools.stored.address}, judged there; the tool rubrics lists them."
    asking = ToolAnnotations(read_only_hint=True, open_world_hint=True)
    judging = ToolAnnotations(read_only_hint=True, open_world_hint=tools.jury is not None or tools.stored is not None)
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=tools.stored is not None)
    offered = [
        offered_tool(tools.council, "Consult the council", f"{COUNCIL}Models: {there}.", asking),
        offered_tool(tools.verdict, "Have the council decide", f"{VERDICT}Models: {there}.", asking),
        offered_tool(tools.judge, "Judge a response", f"{JUDGE}{named}", judging),
        offered_tool(tools.rubrics, "List rubrics", RUBRICS, reading),
        offered_tool(tools.rubric, "Show a rubric", RUBRIC, reading),
        offered_tool(tools.health, "Say whether all is well", HEALTH, reading),
    ]
    return MCPServer("rubrica", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING", tools=offered)


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Our own errors as errors of a tool, for the agent to read: they say the way out."""
    try:
        yield
    except RubricaError as error:
        raise ToolError(str(error)) from None


@asynccontextmanager
async def progress(ctx: Context) -> AsyncIterator[Listener]:
    """A listener that tells the client how far a session is, where the client wants to know."""
    happened: asyncio.Queue[Event | None] = asyncio.Queue()  # None: that was all

    async def pass_on() -> None:
        for number in count(1):
            event = await happened.get()
            if event is None:
                return
            if not isinstance(event, FinalWriting):  # a word each; the answer comes whole
                await ctx.report_progress(number, None, event_text(event))

    telling = asyncio.create_task(pass_on())
    try:
        yield happened.put_nowait
        happened.put_nowait(None)  # what happened last is told before the result is
        await asyncio.wait([telling], timeout=LAST_EVENTS_SECONDS)
    finally:
        telling.cancel()
        await asyncio.wait([telling])
        if not telling.cancelled():
            telling.exception()  # a client that cannot be told has no need to know


def event_text(event: Event) -> str:
    """An event in a few words.

    >>> event_text(AnswerReceived("local:", 1.25, 80))
    'local: answered'
    """
    match event:
        case StageStarted():
            return f"{event.stage}: asking {', '.join(event.models)}"
        case AnswerReceived():
            return f"{event.model} answered"
        case ReviewFinished():
            return f"{event.model} reviewed {event.scored} of {event.answers} answers"
        case MemberDropped():
            return f"{event.model} is left out: {event.reason}"
        case ReviewerCancelled():
            return f"{event.model} is {event.reason}"
        case DebateStarted():
            return f"debate, round {event.round}: {', '.join(event.models)} read each other's points"
        case FinalWriting():
            return event.text
        case Ranked():
            return f"ranked: {', '.join(event.labels[label] for label in event.ranking)}"
        case StageFinished():
            return f"{event.stage}: done after {event.seconds:.1f} s"
        case Concluded():
            return "the final answer stands"
        case _:
            assert_never(event)
