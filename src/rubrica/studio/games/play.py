"""Rounds on their way into a game: read, judged and kept, and once more where somebody else was quicker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from uuid import UUID

from rubrica.engine.plan import Plan
from rubrica.games.attempts import Opened, judge_and_keep
from rubrica.games.judging import JudgedRounds, RoundJudging, RoundReply
from rubrica.games.overrides import overridden, overridden_hash
from rubrica.games.round_details import attached_definitions, keep_again, keep_judged
from rubrica.games.submission import Submission, read_submission
from rubrica.games.turns import open_catch_up, open_retry, open_turn
from rubrica.store.games import Attachment
from rubrica.studio.sandbox.form import Form, context_of, names_read
from rubrica.studio.studio import Visitor
from rubrica.workspace import score_records


def submission_of(form: Form, player: str, token: UUID | None = None) -> Submission:
    """What a filled-in form submits; without a player, whoever fills it in plays.

    >>> submission_of(Form(prompt="Go on.", response="A moth."), "").rounds[0].content
    {'response': 'A moth.', 'prompt': 'Go on.'}
    """
    content = score_records.snapshot(context_of(form))
    begun = {} if token is None else {"token": str(token)}
    said = {"response": "", **content, **begun}
    return read_submission({"round": said, **({"player": player} if player.strip() else {})})


async def play(visitor: Visitor, game_id: UUID, submission: Submission) -> list[RoundReply]:
    """Have rounds judged by everything attached, and keep them: all or nothing."""

    async def opened(now: datetime) -> Opened:
        return [await visitor.read(open_turn, game_id, submission, now)], True

    given, _ = await _judge_and_keep(visitor, opened)
    return given


async def catch_up(visitor: Visitor, game_id: UUID) -> tuple[list[RoundReply], bool]:
    """Have kept rounds judged by what was attached since; and whether that was all of them."""

    async def opened(now: datetime) -> Opened:
        return await visitor.read(open_catch_up, game_id, None, now)

    return await _judge_and_keep(visitor, opened)


async def judge_open(visitor: Visitor, game_id: UUID) -> tuple[list[RoundReply], bool]:
    """Have scores that a failed judge left open judged again; and whether that was all of them."""

    async def opened(_now: datetime) -> Opened:
        return await visitor.read(open_retry, game_id)

    return await _judge_and_keep(visitor, opened, again=True)


async def names_asked(visitor: Visitor, attachments: Sequence[Attachment]) -> tuple[str, ...]:
    """The names that only a player can give a value to, over everything attached."""
    said = await visitor.read(attached_definitions, [attachment.version_id for attachment in attachments])

    def plan(attachment: Attachment) -> Plan:
        found = said[attachment.version_id]
        own = attachment.config_overrides
        return visitor.service.plans.of(overridden(found.definition, own), overridden_hash(found.hash, own))

    def names() -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for attachment in attachments for name in names_read(plan(attachment))))

    return await visitor.service.work.run(visitor.caller.user_id, names)


async def _judge_and_keep(
    visitor: Visitor, opened: Callable[[datetime], Awaitable[Opened]], *, again: bool = False
) -> tuple[list[RoundReply], bool]:
    def session(now: datetime) -> RoundJudging:
        service, caller = visitor.service, visitor.caller
        return RoundJudging(service.plans.of, caller, now, service.work.of(caller.user_id), service.spending)

    async def keep(judged: JudgedRounds, complete: bool) -> tuple[list[RoundReply], bool]:
        return await visitor.write(keep_again if again else keep_judged, judged), complete

    return await judge_and_keep(opened, session, keep, visitor.service.clock)
