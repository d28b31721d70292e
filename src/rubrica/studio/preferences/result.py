"""What judges made of some responses, as tables: how the responses stand, and every vote."""

from __future__ import annotations

from markupsafe import Markup

from rubrica.judges.preference import Preference, PreferenceVote
from rubrica.model.evaluation import Unscored
from rubrica.report.figures import dollars, figure
from rubrica.studio.html_tables import NUMBER, Cell, muted, table

STANDINGS = (("Response", ""), ("Place", NUMBER), ("Merit", NUMBER), ("Votes for it", NUMBER))
VOTES = (("Judge", ""), ("Shown as", ""), ("Choice", ""), ("Ranks", ""), ("Sure", NUMBER), ("Why", "why"))


def outcome(found: Preference | Unscored) -> str:
    """The outcome in a sentence."""
    if isinstance(found, Unscored):
        return f"Nobody could tell: {found.reason}"
    if found.choice is None:
        return "A tie: no response is better than all others."
    return f"The better one is {found.choice}." if len(found.order) == 2 else f"The best one is {found.choice}."


def cost_text(found: Preference) -> str:
    """What asking cost."""
    if found.cost is None or found.cost.usd is None:
        return "What it cost is not known."
    return f"It cost {dollars(found.cost.usd)}."


def standings(found: Preference) -> Markup:
    """The responses, best first. Those of equal merit share a place."""
    places = {name: 1 + sum(other > merit for other in found.merits.values()) for name, merit in found.merits.items()}
    rows: list[list[Cell]] = []
    for name in found.order:
        chosen = sum(vote.choice == name for vote in found.votes)
        merit = found.merits.get(name)
        shown = "—" if merit is None else figure(round(merit, 2))
        rows.append([name, str(places.get(name, "—")), shown, f"{chosen} of {len(found.votes)}"])
    return table(STANDINGS, rows, "How the responses stand")


def votes(found: Preference) -> Markup:
    """What each judge said, once for each order."""
    return table(VOTES, [_vote_row(vote) for vote in found.votes], "Votes")


def _vote_row(vote: PreferenceVote) -> list[Cell]:
    ranks = muted("none")
    if vote.ranks is not None:
        placed = sorted(vote.ranks.items(), key=lambda own: own[1])
        ranks = Markup("{}").format(", ".join(f"{figure(rank)}. {name}" for name, rank in placed))
    choice = vote.choice or (muted("no answer") if vote.ranks is None else muted("a tie"))
    return [vote.judge, " · ".join(vote.shown), choice, ranks, figure(round(vote.confidence, 2)), vote.reason or "—"]
