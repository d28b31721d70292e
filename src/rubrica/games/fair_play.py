"""Fair play: what players of a game may report of themselves, what a missing report costs, and what rivals see.

Whoever made the game may report anything; the rules here are for everybody else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, get_args

import msgspec

from rubrica.errors import InputError, Problem, RubricError
from rubrica.hints import did_you_mean
from rubrica.model.context import Context
from rubrica.store.games import Game

Reveal = Literal["never", "after_submit", "after_close", "always"]
"""When others see what a player wrote: never, once they submitted the round of the same number themselves, once the
game is closed, or at once."""

Clock = Literal["server", "reported"]
"""Whose time counts: the server's, from the start of a round to its submission, or what players say."""

Missing = Literal["worst", "refuse", "rubric"]
"""What a metric costs that a rubric reads and nobody reported: the lowest score it leaves possible, the whole round, or
whatever the rubric does by itself."""

TIME = "response_time"
MOST_REPORTS = 50
OWN = ("round_number",)
"""Of metadata: what the game itself reads."""


class FairPlay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of one game."""

    reveal: Reveal = "always"
    reports: list[str] | None = None  # metrics that players may report of themselves; None: any
    clock: Clock = "server"
    missing: Missing = "worst"

    def may_report(self, name: str) -> bool:
        """Whether players may report a metric.

        >>> FairPlay(reports=["token_count"]).may_report("moths"), FairPlay().may_report("moths")
        (False, True)
        """
        return self.reports is None or name in self.reports


BEFORE = FairPlay(clock="reported", missing="rubric")
"""The rules of games that were made before there was a choice."""


def rules_of(game: Game) -> FairPlay:
    """The rules of a game."""
    return BEFORE if game.fair_play is None else msgspec.convert(game.fair_play, FairPlay)


def good_rules(wanted: Mapping[str, Any], before: FairPlay | None = None) -> dict[str, Any]:
    """Rules as they are kept: what is left out stays.

    >>> good_rules({"reveal": "never"})["reveal"]
    'never'
    >>> good_rules({"reveel": "never"})
    Traceback (most recent call last):
        ...
    rubrica.errors.RubricError: fair_play.reveel: is not a known key (did you mean 'reveal'?)
    """
    fields = FairPlay.__struct_fields__
    unknown = [key for key in wanted if key not in fields]
    if unknown:
        fix = f"one of {', '.join(fields)}"
        raise RubricError(
            [Problem("is not a known key", ("fair_play", key), fix=did_you_mean(key, fields, fix)) for key in unknown]
        )
    whole = {**msgspec.to_builtins(before or FairPlay()), **wanted}
    try:
        rules = msgspec.convert(whole, FairPlay)
    except msgspec.ValidationError:
        choices = {"reveal": get_args(Reveal), "clock": get_args(Clock), "missing": get_args(Missing)}
        problems = [
            Problem(f"{whole[key]!r} is not a choice", ("fair_play", key), fix=f"one of {', '.join(allowed)}")
            for key, allowed in choices.items()
            if whole[key] not in allowed
        ]
        raise RubricError(problems or [Problem("is a list of names, or null", ("fair_play", "reports"))]) from None
    if rules.reports is not None and len(rules.reports) > MOST_REPORTS:
        raise InputError(f"fair_play: {len(rules.reports)} metrics are too many to report (at most {MOST_REPORTS})")
    plain: dict[str, Any] = msgspec.to_builtins(rules)
    return plain


def refuse_reports(rules: FairPlay, content: Mapping[str, Any], reads: Collection[str], *path: str | int) -> None:
    """Refuse what a player may not report, and time where the server measures it and a rubric reads it."""
    metadata, metrics = content.get("metadata"), content.get("custom_metrics")
    told = {
        **{name: ("metadata", name) for name in (metadata if isinstance(metadata, Mapping) else ()) if name not in OWN},
        **{name: ("custom_metrics", name) for name in (metrics if isinstance(metrics, Mapping) else ())},
    }
    problems = []
    for name, place in told.items():
        if name == TIME and rules.clock == "server" and TIME in reads:
            fix = "leave it out, and have the round begun with POST …/start"
            problems.append(Problem("the server measures time in this game", (*path, *place), fix=fix))
        elif not rules.may_report(name):
            allowed = ", ".join(rules.reports or ()) or "nothing"
            fix = f"remove it; players report {allowed}"
            problems.append(Problem("is not for players to report in this game", (*path, *place), fix=fix))
    if problems:
        raise RubricError(problems)


def expected_reports(rules: FairPlay, reads: Collection[str]) -> frozenset[str]:
    """The metrics that a rubric reads and that can be reported in a game, or are measured by the server.

    >>> sorted(expected_reports(FairPlay(reports=["tokens"]), ["tokens", "moths", "response_time"]))
    ['response_time', 'tokens']
    """
    if rules.missing == "rubric":
        return frozenset()
    return frozenset(name for name in reads if rules.may_report(name) or (name == TIME and rules.clock == "server"))


def is_revealed(reveal: Reveal, *, submitted: bool, closed: bool) -> bool:
    """Whether a rival's round may be read by somebody who submitted the round of that number, or did not.

    >>> [is_revealed(rule, submitted=True, closed=False) for rule in ("after_submit", "after_close", "never")]
    [True, False, False]
    """
    match reveal:
        case "always":
            return True
        case "after_submit":
            return submitted
        case "after_close":
            return closed
        case "never":
            return False


def missing_reports(expected: Collection[str], context: Context) -> list[str]:
    """The metrics that are expected of a round and that it does not have."""
    return sorted(name for name in expected if context.lookup(name) is None)
