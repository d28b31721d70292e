"""What a caller may see of a game's rounds: one's own in full, a rival's as the game's rule says.

What a provider said when it failed, with its address, is for whoever made the game, and admins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.store import players, rounds
from rubrica.store.games import Game
from rubrica.store.rounds import PlayedRound
from rubrica.workspace.access import Caller

from .composite import Composite
from .fair_play import Reveal, is_revealed, rules_of
from .games import hosts
from .judging import KeptRoundScore
from .open_scores import NO_ANSWER, first_clause, kept_failure, without_provider_errors


@dataclass(frozen=True, slots=True)
class RoundAccess:
    """Somebody who looks at the rounds of one game."""

    hosting: bool
    reveal: Reveal = "always"
    closed: bool = False
    own: frozenset[UUID] = frozenset()  # their players
    submitted: frozenset[int] = frozenset()  # numbers of their rounds there

    @classmethod
    def of(cls, conn: Connection, caller: Caller, game: Game) -> RoundAccess:
        """What a caller is to a game."""
        if hosts(caller, game):
            return cls(hosting=True)
        reveal = rules_of(game).reveal
        if reveal == "always":
            return cls(hosting=False)
        mine = frozenset(player.id for player in players.players_of_user(conn, caller.user_id, game.id))
        numbers = frozenset(rounds.numbers_of_user(conn, game.id, caller.user_id))
        closed = game.status == "closed"
        return cls(False, reveal, closed, mine, numbers)

    def reads(self, round_: PlayedRound) -> bool:
        """Whether they may read what was written in a round."""
        if self.hosting or round_.player_id in self.own:
            return True
        return is_revealed(self.reveal, submitted=round_.round_number in self.submitted, closed=self.closed)

    def composite(self, composite: Composite) -> Composite:
        """A composite as they see it."""
        return composite if self.hosting else without_provider_errors(composite)

    def score(self, score: KeptRoundScore, round_: PlayedRound, record: Mapping[str, Any]) -> KeptRoundScore:
        """A score with its record as they see it: of a round that is hidden, no more than its figures."""
        if self.hosting:
            return score
        if not self.reads(round_):
            return msgspec.structs.replace(score, reason="", rule_breakdown=[], dimension_scores={})
        told = first_clause(score.reason) if score.normalized_score is None else score.reason
        shown = without_failures(score.dimension_scores, record.get("dimensions") or {})
        return msgspec.structs.replace(score, reason=told, dimension_scores=shown)


def without_failures(dimensions: Mapping[str, Any], records: Mapping[str, Any]) -> dict[str, Any]:
    """Dimensions as anybody may see them: where a judge gave no score they say so, not what a provider said."""
    return {name: _without_failure(result, records.get(name)) for name, result in dimensions.items()}


def _without_failure(result: Any, record: Any) -> Any:
    if not isinstance(result, Mapping):
        return result
    shown, kept = dict(result), record if isinstance(record, Mapping) else {}
    if shown.get("status") == "unscored" and shown.get("value") is None and (not kept or kept_failure(kept)):
        shown["reason"] = NO_ANSWER
    if isinstance(shown.get("parts"), Mapping):
        shown["parts"] = without_failures(shown["parts"], kept.get("parts") or {})
    return shown
