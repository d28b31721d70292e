"""A table to play at: people of every role, the definitions of the arena pack, and turns as the server takes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any
from uuid import UUID

from databases import Opened
from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_data
from rubrica.engine.plan import Plan
from rubrica.games import attachments, games, rounds
from rubrica.games.attachments import AttachmentRequest, GameAttachments, Weights
from rubrica.games.judging import JudgedRounds, RoundJudging, RoundReply, judge_turns
from rubrica.games.submission import read_submission
from rubrica.games.turns import open_catch_up, open_turn
from rubrica.store.users import ensure_user
from rubrica.workspace import catalogue
from rubrica.workspace.access import Caller, Role
from rubrica.workspace.draft import read_draft

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
ARENA = ("norm-macdonald-classic", "speed-demon", "scientific-rigor-pro")


def plan_of(definition: Mapping[str, Any], hash_: str) -> Plan:
    return compile_rubric(rubric_from_data(definition))


@dataclass
class Table:
    """A database with a few people in it. Every step takes a second."""

    database: Opened
    people: dict[str, Caller] = field(default_factory=dict)
    time: datetime = START

    @property
    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time

    def person(self, name: str, role: Role) -> Caller:
        caller = Caller(self.database.write(ensure_user, name, self.now).id, name, role)
        self.people[name] = caller
        return caller

    def rubric(self, caller: Caller, definition: Mapping[str, Any]) -> UUID:
        return self.database.write(catalogue.create, caller, read_draft(definition), self.now).listing.id

    def bundled(self, caller: Caller) -> None:
        """The three definitions, made public by somebody."""
        for name in ARENA:
            text = (files("rubrica.packs") / "arena" / f"{name}.json").read_text()
            self.rubric(caller, {**json.loads(text), "is_public": True})

    def game(
        self, caller: Caller, *, public: bool = True, rules: Mapping[str, Any] | None = None, **config: Any
    ) -> UUID:
        """A game; players report their own time there unless its rules say otherwise."""
        wanted = {"name": "Moth night", "config": config, "is_public": public}
        fair_play = {"clock": "reported"} if rules is None else rules
        made = self.database.write(games.make_game, caller, {**wanted, "fair_play": fair_play}, self.now)
        return made.game.id

    def vouch(self, game: UUID) -> None:
        """Have a game count across games whoever plays in it."""
        admin = Caller(UUID(int=7), "admin", "admin")
        self.database.write(games.vouch, admin, game, True, self.now)

    def attach(
        self, caller: Caller, game: UUID, *wishes: AttachmentRequest, weights: Weights = "exact"
    ) -> GameAttachments:
        new = attachments.check_attachments(self.database.read(attachments.resolve, caller, game, wishes))
        return self.database.write(attachments.attach, caller, game, new, weights, self.now)

    def replace(
        self, caller: Caller, game: UUID, *wishes: AttachmentRequest, weights: Weights = "exact"
    ) -> GameAttachments:
        new = attachments.check_attachments(self.database.read(attachments.resolve, caller, game, wishes))
        return self.database.write(attachments.replace, caller, game, new, weights, self.now)

    def judged(self, caller: Caller, game: UUID, body: Mapping[str, Any]) -> JudgedRounds:
        """Rounds that are judged and not kept yet."""
        submission = read_submission(body)
        if submission.rounds:
            turns = [self.database.read(open_turn, caller, game, submission, self.now)]
        else:
            turns, _ = self.database.read(open_catch_up, caller, game, submission.player, self.now)
        return asyncio.run(judge_turns(turns, RoundJudging(plan_of, caller, self.now)))

    def play(self, caller: Caller, game: UUID, body: Mapping[str, Any]) -> list[RoundReply]:
        return self.database.write(rounds.keep_rounds, self.judged(caller, game, body))

    def say(self, caller: Caller, game: UUID, response: str, **more: Any) -> RoundReply:
        """One round of the caller's own."""
        (given,) = self.play(caller, game, {"round": {"response": response, **more}})
        return given
