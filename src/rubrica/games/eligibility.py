"""Which games count across games: those that others than their maker play in, by rubrics that everybody can read.

Anybody can make a game that gives their own player full marks. So a game counts once it has enough players of other
people, and everything attached to it is published; its maker's own players do not count there. An admin may vouch for a
game, which then counts as it is; so do games of a server without keys, which serves its own machine only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

import msgspec

from rubrica.store.scores import PlayerMean

FEWEST_OTHERS = 3
"""People other than whoever made a game who must have played in it."""


class GameCredentials(msgspec.Struct, frozen=True):
    """What is looked at to tell whether a game counts."""

    game_id: UUID
    name: str
    maker: UUID | None
    vouched: bool
    unpublished: tuple[str, ...]  # rubrics that are attached and not published


class UncountedGame(msgspec.Struct, frozen=True):
    """A game that does not count across games, and why."""

    game_id: UUID
    name: str
    reason: str


def why_uncounted(game: GameCredentials, people: Collection[UUID]) -> str:
    """Why a game does not count across games, where these people have played; empty: it does.

    >>> ann, others = UUID(int=1), [UUID(int=number) for number in (2, 3, 4)]
    >>> game = GameCredentials(UUID(int=9), "Sham", ann, False, ())
    >>> why_uncounted(game, [ann, others[0]])
    '1 other person has played in it, and it takes 3'
    >>> why_uncounted(game, others), why_uncounted(msgspec.structs.replace(game, unpublished=("mine",)), others)
    ('', 'mine is not published')
    """
    if game.vouched:
        return ""
    if game.unpublished:
        several = len(game.unpublished) > 1
        return f"{', '.join(game.unpublished)} {'are' if several else 'is'} not published"
    others = len({person for person in people if person != game.maker})
    if others < FEWEST_OTHERS:
        told = "1 other person has" if others == 1 else f"{others} other people have"
        return f"{told} played in it, and it takes {FEWEST_OTHERS}"
    return ""


def counted(
    means: Iterable[PlayerMean], games: Mapping[UUID, GameCredentials], behind: Mapping[UUID, UUID]
) -> tuple[list[PlayerMean], list[UncountedGame]]:
    """What counts across games, and the games that do not; `behind` says who stands behind each player."""
    by_game: dict[UUID, list[PlayerMean]] = {}
    for mean in means:
        by_game.setdefault(mean.game_id, []).append(mean)
    kept: list[PlayerMean] = []
    left_out: list[UncountedGame] = []
    for game_id, own in by_game.items():
        game = games[game_id]
        reason = why_uncounted(game, {behind[mean.player_id] for mean in own if mean.player_id in behind})
        if reason:
            left_out.append(UncountedGame(game_id, game.name, reason))
        else:
            kept += [mean for mean in own if game.vouched or behind.get(mean.player_id) != game.maker]
    return kept, left_out
