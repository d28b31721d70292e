"""One exchange with a model: ask, read, ask once more for what could not be read, and account for all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext

import msgspec

from rubrica.llm.model import ChatMessage, Model, ModelError, Reply, Request, Usage
from rubrica.llm.reasoning import Effort
from rubrica.llm.text_stream import Transcript, current_listener, streaming_to
from rubrica.model.evaluation import Cost, Remarks, Score, Unscored
from rubrica.text.style import refusal_spans
from rubrica.text.texts import Texts

from .fence import visible
from .mark import NoScore, ReplyScore
from .prompt import template
from .reply import without_thoughts
from .shape import Shape, skeleton
from .yes_no import MOST_ALTERNATIVES

Cell = tuple[str, str]
"""Which response and which axis: ``("A", "accuracy")``. The label is empty where there is only one response."""

Price = Callable[[str, Usage], float | None]
"""US dollars for a call to a model by name, None where the price is not known."""

REFUSED = "the model refused to judge"
"""How the reason begins where a model declined, by its provider's word or by its own."""

LONGEST_EXCERPT = 200
_IN_TIME = 0.98  # of the deadline: a little before the engine, which would give up every axis of the wave


# gc=False: thousands of these live while calls are under way, and none can be part of a cycle.


class ParsedReply(msgspec.Struct, frozen=True, gc=False):
    """What could be read out of a reply."""

    marks: Mapping[Cell, ReplyScore | NoScore]
    remarks: Remarks | None = None
    notes: Mapping[str, str] = {}  # by label
    wholes: Mapping[str, ReplyScore] = {}  # by label: one score for a response in place of its axes
    ranking: tuple[str, ...] = ()  # names from best to worst, as they are written
    entries: tuple[str, ...] = ()  # names with scores, as they are written
    cut: str = ""  # why there is no more of the reply

    @property
    def unread(self) -> dict[Cell, NoScore]:
        """The cells worth asking for again."""
        return {cell: mark for cell, mark in self.marks.items() if isinstance(mark, NoScore) and not mark.final}

    @property
    def has_scores(self) -> bool:
        """Whether there is any score in it, or an order of several."""
        scored = any(isinstance(mark, ReplyScore) for mark in self.marks.values())
        return scored or bool(self.wholes) or len(self.ranking) > 1

    def merged_with(self, other: ParsedReply) -> ParsedReply:
        """This answer, with what it lacks taken from a later one."""
        marks = {
            cell: other.marks.get(cell, mark) if cell in self.unread else mark for cell, mark in self.marks.items()
        }
        remarks = self.remarks if self.remarks not in (None, Remarks()) else other.remarks
        notes = {**other.notes, **{label: note for label, note in self.notes.items() if note}}
        return msgspec.structs.replace(
            self,
            marks=marks,
            remarks=remarks,
            notes=notes,
            wholes={**other.wholes, **self.wholes},
            ranking=self.ranking or other.ranking,
            entries=self.entries or other.entries,
        )


class JudgeQuestion(msgspec.Struct, frozen=True, gc=False):
    """A question to a judge: the messages, how to read the reply, and the reply's shape for some of its cells."""

    system: str
    user: str
    cells: tuple[Cell, ...]
    read: Callable[[str], ParsedReply]
    shape: Callable[[Collection[Cell]], Shape | None]  # None: a line of text, as `form` says
    form: str = ""
    weigh: Callable[[Reply], ParsedReply] | None = None  # reads the chances of the first words, in place of `read`
    salvage: Callable[[str], ParsedReply] | None = None  # reads what there is of a reply that was cut off
    images: tuple[str, ...] = ()
    suspicions: Mapping[str, tuple[str, ...]] = {}  # by label
    shared: int | msgspec.UnsetType = msgspec.UNSET  # characters of `user` that other questions begin with too
    sighted: tuple[Cell, ...] | None = None  # the cells that need to be seen; None: no rubric says, so all may
    repaired: bool = True  # asked once more for what cannot be read; else whoever asks looks at what is left `unread`


class AskingTerms(msgspec.Struct, frozen=True, gc=False):
    """How a model is asked and billed."""

    model: Model
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    price: Price | None = None
    on_unreadable: Callable[[Request], None] | None = None
    clock: Callable[[], float] = time.perf_counter
    deadline: float | None = None  # seconds for the whole exchange
    effort: Effort | None = None  # of a model that reasons
    limit_key: str = "judging.max_tokens"  # the setting that allows more tokens

    def forget(self, request: Request) -> None:
        """Tell whoever keeps replies that the one to this request was of no use."""
        if self.on_unreadable is not None:
            self.on_unreadable(request)


class ExchangeCost(msgspec.Struct, gc=False):
    """What an exchange has cost so far. Replies from our own cache cost nothing."""

    usd: float | None = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0

    def add(self, reply: Reply, name: str, price: Price | None) -> None:
        self.calls += 1
        if reply.cached:
            return
        usd = price(name, reply.usage) if price is not None else None
        self.usd = None if usd is None or self.usd is None else self.usd + usd
        self.input_tokens += reply.usage.input_tokens
        self.output_tokens += reply.usage.output_tokens

    def split(self, ways: int) -> list[Cost | None]:
        """The bill in equal parts that add up to it: several scores from one call share what it cost."""
        if not self.calls:
            return [None] * ways
        usd = None if self.usd is None else self.usd / ways
        read, more_read = divmod(self.input_tokens, ways)
        written, more_written = divmod(self.output_tokens, ways)
        return [Cost(usd, read + (at < more_read), written + (at < more_written)) for at in range(ways)]


class _Unusable(Exception):  # noqa: N818 - the reply came; it is of no use
    """A reply that says why there is nothing to read in it."""


async def exchange(ask: JudgeQuestion, terms: AskingTerms) -> tuple[dict[Cell, Score | Unscored], ParsedReply]:
    """Every cell's Score, or Unscored with its reason. Nothing is raised but cancellation."""
    bill, started = ExchangeCost(), terms.clock()
    written = None if ask.salvage is None else Transcript()
    with nullcontext() if written is None else streaming_to(written):
        if terms.deadline is None:
            answer = await _answer(ask, terms, bill)
        else:
            try:
                async with asyncio.timeout(_IN_TIME * terms.deadline):
                    answer = await _answer(ask, terms, bill)
            except TimeoutError:
                late = f"the deadline of {terms.deadline:g} s"
                answer = _saved(ask, f"cut off at {late}") or _none(ask, f"no answer within {late}")
    spent = (terms.clock() - started) * 1000
    judge, costs = terms.model.name, bill.split(len(ask.cells))
    outcomes = {
        cell: _outcome(answer.marks[cell], ask.suspicions.get(cell[0], ()), judge, cost, spent)
        for cell, cost in zip(ask.cells, costs, strict=True)
    }
    return outcomes, answer


async def _answer(ask: JudgeQuestion, terms: AskingTerms, bill: ExchangeCost) -> ParsedReply:
    """What the model answers, asked twice at most. Where something goes wrong, every cell says what."""
    if ask.sighted and not ask.images:
        return await _without_images(ask, terms, bill, "none was given")
    try:
        return await _ask_model(ask, terms, bill)
    except ModelError as error:
        if ask.images and ask.sighted is not None and error.trouble == "rejected":
            return await _without_images(ask, terms, bill, str(error))
        return _saved(ask, f"cut off half-way: {error}") or _none(ask, str(error))
    except _Unusable as error:
        return _none(ask, str(error), final=ask.repaired)
    except Exception as error:  # noqa: BLE001 - the boundary of a scorer: a fault here must not lose the other scores
        return _none(ask, f"the judge failed: {type(error).__name__}: {error}")


async def _ask_model(ask: JudgeQuestion, terms: AskingTerms, bill: ExchangeCost) -> ParsedReply:
    messages = (ChatMessage("system", ask.system), ChatMessage("user", ask.user, ask.images, ask.shared))
    request = _request(messages, ask.shape(ask.cells), terms)
    if ask.weigh is not None:
        request = msgspec.structs.replace(request, top_logprobs=MOST_ALTERNATIVES)
    reply = await terms.model(request)
    if ask.weigh is not None and reply.stop == "length":  # whatever comes after the answer is not looked at
        reply = msgspec.structs.replace(reply, stop="end")
    written = current_listener()
    if isinstance(written, Transcript) and not written.has_text:
        written.receive(reply.text)  # it came whole
    why = f"cut off after {reply.usage.output_tokens:,} tokens"
    if reply.stop == "length" and (saved := _saved(ask, why, reply.text)):
        bill.add(reply, terms.model.name, terms.price)
        return saved
    text = _text(reply, request, terms, bill)
    answer = ask.read(text) if ask.weigh is None else ask.weigh(reply)
    if not answer.unread:
        return answer
    if not ask.repaired:
        terms.forget(request)
        return answer
    return await _ask_again(ask, terms, bill, request, text, answer)


async def _without_images(ask: JudgeQuestion, terms: AskingTerms, bill: ExchangeCost, reason: str) -> ParsedReply:
    """The answer of a model that cannot be shown the images: nothing for what needs to be seen, whatever it says."""
    unseen = _none(ask, f"the pictures could not be shown: {reason}").marks
    blind = tuple(cell for cell in ask.cells if cell not in (ask.sighted or ()))
    if not blind:
        return ParsedReply(unseen)

    def read(text: str) -> ParsedReply:
        answer = ask.read(text)
        return msgspec.structs.replace(answer, marks={cell: answer.marks[cell] for cell in blind})

    answer = await _answer(msgspec.structs.replace(ask, images=(), cells=blind, read=read, sighted=None), terms, bill)
    return msgspec.structs.replace(answer, marks={**unseen, **answer.marks})


async def _ask_again(
    ask: JudgeQuestion, terms: AskingTerms, bill: ExchangeCost, request: Request, text: str, answer: ParsedReply
) -> ParsedReply:
    """The answer that was read out of `text`, completed by what one more question brings."""
    shape = ask.shape(answer.unread)
    _, repair = template("repair").fill(
        {"problem": _problem(answer.unread), "shape": ask.form if shape is None else skeleton(shape)}
    )
    said = ChatMessage("assistant", text.strip() or "(no text)")  # providers refuse an empty message
    again = _request((*request.messages, said, ChatMessage("user", repair)), shape, terms)
    try:
        repaired = answer.merged_with(ask.read(_text(await terms.model(again), again, terms, bill)))
    except (_Unusable, ModelError) as error:
        repaired = _marked(answer, f"asking again failed: {error}")
        terms.forget(request)
        return repaired
    if repaired.unread:
        terms.forget(request)
        terms.forget(again)
    if len(repaired.unread) == len(ask.cells) and not (repaired.wholes or repaired.ranking) and _declines(text):
        return _none(ask, f"{REFUSED}: {_excerpt(text)}")
    return _marked(repaired, "also when asked again")


def _declines(text: str) -> bool:
    """Whether a reply that cannot be read is a refusal in plain words, which no provider has marked as one."""
    return bool(refusal_spans(Texts(response=text), "response"))


def _saved(ask: JudgeQuestion, why: str, text: str = "") -> ParsedReply | None:
    """What can be read of a reply that was cut off, marked as such; None where that is nothing. Without its text: of
    what whoever listens has heard of it."""
    written = current_listener()
    kept = text or (written.longest_text if isinstance(written, Transcript) else "")
    if ask.salvage is None or not kept:
        return None
    found = ask.salvage(without_thoughts(kept))
    reason = f"the reply was {why}"
    return _marked(msgspec.structs.replace(found, cut=reason), reason) if found.has_scores else None


def _none(ask: JudgeQuestion, reason: str, *, final: bool = True) -> ParsedReply:
    return ParsedReply(dict.fromkeys(ask.cells, NoScore(reason, final=final)))


def _text(reply: Reply, request: Request, terms: AskingTerms, bill: ExchangeCost) -> str:
    """What a reply says, once it is paid."""
    bill.add(reply, terms.model.name, terms.price)
    if reply.stop == "refusal":
        said = f": {_excerpt(reply.text)}" if reply.text.strip() else ""
        raise _Unusable(f"{REFUSED}{said}")
    if reply.stop == "length":
        raise _Unusable(
            f"the reply was cut off after {reply.usage.output_tokens} tokens "
            f"(allow more than {request.max_tokens} by {terms.limit_key})"
        )
    return without_thoughts(reply.text)


def _request(messages: tuple[ChatMessage, ...], shape: Shape | None, terms: AskingTerms) -> Request:
    return Request(
        messages=messages,
        schema=shape,
        schema_name="judgement",
        temperature=terms.temperature,
        max_tokens=terms.max_tokens,
        seed=terms.seed,
        effort=terms.effort or msgspec.UNSET,
    )


def _outcome(
    mark: ReplyScore | NoScore, suspicions: tuple[str, ...], judge: str, cost: Cost | None, duration_ms: float
) -> Score | Unscored:
    warning = f"the text tries to instruct the judge: {'; '.join(suspicions)}" if suspicions else ""
    if isinstance(mark, NoScore):
        reason = "; ".join(part for part in (visible(mark.reason), warning) if part)
        return Unscored(reason, "llm", cost=cost, duration_ms=duration_ms, judge=judge, label=mark.label)
    reason = f"{mark.reason} ({warning})".strip() if warning else mark.reason
    return Score(
        mark.value, reason, mark.confidence, "llm", cost=cost, duration_ms=duration_ms, judge=judge, label=mark.label
    )


def _marked(answer: ParsedReply, addition: str) -> ParsedReply:
    """The answer, its unread cells final and saying what else was tried."""
    marks = {
        cell: NoScore(f"{mark.reason}; {addition}", final=True)
        if isinstance(mark, NoScore) and not mark.final
        else mark
        for cell, mark in answer.marks.items()
    }
    return msgspec.structs.replace(answer, marks=marks)


def _problem(unread: Mapping[Cell, NoScore]) -> str:
    """What was wrong with the reply, and for which axes."""
    reasons = sorted({mark.reason for mark in unread.values()})
    named = sorted({" of ".join(part for part in (axis, label) if part) for label, axis in unread if axis})
    return "; ".join(reasons) + (f" ({', '.join(named)})" if named else "")


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_EXCERPT else line[: LONGEST_EXCERPT - 1] + "…"
