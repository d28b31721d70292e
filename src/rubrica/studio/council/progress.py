"""The progress of a council session, followed from its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, assert_never

from markupsafe import Markup

from rubrica.council.events import (
    AnswerReceived,
    Concluded,
    Event,
    MemberDropped,
    Ranked,
    ReviewFinished,
    Stage,
    StageFinished,
    StageStarted,
)
from rubrica.report.excerpt import visible
from rubrica.report.figures import count_of, dollars, duration
from rubrica.report.roles import Role

State = Literal["asked", "done", "dropped"]
TITLES: dict[Stage, tuple[str, str]] = {
    "answers": ("Answers", "every member answers on its own"),
    "reviews": ("Reviews", "every member scores the others' answers, without knowing who wrote them"),
    "final": ("Final answer", "the chair writes it from the ranked answers"),
}
SIGNS: dict[State, tuple[Role, str]] = {"asked": ("neutral", "…"), "done": ("good", "✓"), "dropped": ("bad", "✕")}


@dataclass(slots=True)
class MemberState:
    """A member in a stage."""

    state: State = "asked"
    said: str = "asked"


@dataclass(slots=True)
class StageState:
    """A stage: who is in it, and how far they are."""

    deadline: float
    seats: dict[str, MemberState]
    told: str = ""  # once it is over

    @property
    def over(self) -> bool:
        return bool(self.told)


@dataclass(slots=True)
class SessionProgress:
    """A session so far.

    >>> progress = SessionProgress()
    >>> progress.hear(StageStarted("answers", ("ann", "bo"), 20))
    >>> progress.hear(AnswerReceived("ann", 1.2, 40))
    >>> [(name, seat.said) for name, seat in progress.legs["answers"].seats.items()]
    [('ann', '40 words in 1.2 s'), ('bo', 'asked')]
    """

    legs: dict[Stage, StageState] = field(default_factory=dict)
    ended: bool = False  # nothing happens in it any more

    @property
    def deadline(self) -> float | None:
        """Seconds that the stage under way may take; None: there is none."""
        return next((leg.deadline for leg in self.legs.values() if not leg.over), None)

    @property
    def stage(self) -> Stage | None:
        return next((stage for stage, leg in self.legs.items() if not leg.over), None)

    def hear(self, event: Event) -> None:
        """Take note of something that happened."""
        match event:
            case StageStarted():
                self.legs[event.stage] = StageState(event.deadline, {name: MemberState() for name in event.models})
            case AnswerReceived():
                said = f"{count_of(event.words, 'word')} in {duration(event.seconds * 1000)}"
                self._seat("answers", event.model, "done", said)
            case ReviewFinished():
                took = duration(event.seconds * 1000)
                self._seat("reviews", event.model, "done", f"{event.scored} of {event.answers} scored in {took}")
            case MemberDropped():
                self._seat(event.stage, event.model, "dropped", event.reason)
            case StageFinished():
                spent = f", {dollars(event.cost.usd)}" if event.cost is not None and event.cost.usd is not None else ""
                self.legs[event.stage].told = f"{duration(event.seconds * 1000)}{spent}"
            case Concluded():
                if event.chair is not None and not event.fallback:
                    self._seat("final", event.chair, "done", count_of(len(event.text.split()), "word"))
            case Ranked():
                pass
            case _:
                assert_never(event)

    def _seat(self, stage: Stage, model: str, state: State, said: str) -> None:
        self.legs[stage].seats[model] = MemberState(state, said)


def progress_drawing(progress: SessionProgress) -> Markup:
    """The three stages beside each other, with everybody in them."""
    return Markup('<ol class="legs">{}</ol>').format(
        Markup("").join(_draw_stage(number, stage, progress) for number, stage in enumerate(TITLES, 1))
    )


def _draw_stage(number: int, stage: Stage, progress: SessionProgress) -> Markup:
    (title, note), leg = TITLES[stage], progress.legs.get(stage)
    if leg is None:
        now = "not reached" if progress.ended else "waits"
    else:
        now = leg.told or ("cut off" if progress.ended else "under way")
    seats = Markup("").join(_draw_member(name, seat) for name, seat in (leg.seats if leg is not None else {}).items())
    return Markup(
        '<li class="leg {}"><h3>{}. {} <span class="quiet">{}</span></h3><p class="quiet">{}</p><ul>{}</ul></li>'
    ).format("" if leg is not None else "later", number, title, now, note, seats)


def _draw_member(name: str, seat: MemberState) -> Markup:
    role, sign = SIGNS[seat.state]
    word = "dropped: " if seat.state == "dropped" else ""
    return Markup(
        '<li class="is-{}"><i aria-hidden="true">{}</i><div><b><bdi>{}</bdi></b> <span class="quiet"><bdi>{}{}</bdi>'
        "</span></div></li>"
    ).format(role, sign, visible(name), word, visible(seat.said))
