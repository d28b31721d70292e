"""The sandbox's result panel, with sliders to try other weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from nicegui import ui

from rubrica.engine.counterfactuals import GateRelease, VerdictFlip, gate_releases, reweigh, verdict_flips, weights_of
from rubrica.engine.plan import Plan
from rubrica.engine.rejudge import rejudge
from rubrica.model.evaluation import Evaluation
from rubrica.report.card import Card, card_of
from rubrica.report.figures import percent
from rubrica.report.titles import title_of
from rubrica.studio.builder.weights import rebalance
from rubrica.studio.parts import card

from . import result


@dataclass(frozen=True, slots=True)
class Explained:
    """An evaluation with everything that is shown of it."""

    evaluation: Evaluation
    card: Card
    turns: tuple[VerdictFlip, ...]
    releases: tuple[GateRelease, ...]


def explain(plan: Plan, evaluation: Evaluation) -> Explained:
    """Work out all that is shown of an evaluation."""
    shown = card_of(evaluation, rubric=plan.rubric)
    return Explained(evaluation, shown, verdict_flips(plan, evaluation), gate_releases(plan, evaluation))


@dataclass(frozen=True, slots=True)
class SecondEvaluation:
    """A second evaluation of the same input, the plan it was made by, and what the two are called."""

    evaluation: Evaluation
    plan: Plan
    names: tuple[str, str]


class ResultPanel:
    """The places that results are put into: some beside the input (`near`), the others below both (`wide`)."""

    def __init__(self, near: ui.element, wide: ui.element) -> None:
        self.near, self.wide = near, wide
        self.found: Explained | None = None  # under the rubric's own weights
        self.shown: Explained | None = None  # under the weights that the sliders say
        self.weights: dict[str, float] = {}  # as the sliders say; empty: the rubric's own
        self.moving = False

    def draw(self, plan: Plan, actions: Callable[[], None], *, compared: bool) -> None:
        """Empty places for the results of a plan; `actions` draws what can be done with one."""
        self.plan, self.found, self.shown, self.weights = plan, None, None, {}
        self.near.clear()
        self.wide.clear()
        with self.near:
            with card("Result"):
                self.problem = ui.label().classes("fault").props('role="alert"')
                self.hint = ui.label().classes("quiet")
                self.summary, self.gates = _place().props('aria-live="polite"'), _place()
                actions()
            with ui.element("div").classes("pile") as self.extra:
                with card("What would change the verdict", "one thing at a time"):
                    self.changes = _place()
                self.weighing = ui.element("section").classes("card")
        with self.wide:
            if compared:
                with card("Side by side", "on the same input"):
                    self.sides = _place()
            with ui.element("div").classes("two"):
                with card("Dimensions", "share of full marks"):
                    self.radar = _place()
                with card("How the score adds up"):
                    self.waterfall = _place()
            with card("What was matched"):
                self.texts = _place()
            with card("Dimension by dimension"):
                self.table = _place()
        self.sliders: dict[str, tuple[ui.slider, ui.label]] = {}
        self.profile: object = self  # none yet: the sliders are drawn with the first result

    @property
    def evaluation(self) -> Evaluation | None:
        """What is shown, with a note of the weights where they were moved."""
        if self.shown is None or not self.weights:
            return None if self.shown is None else self.shown.evaluation
        shown = self.shown.evaluation
        note = weights_note(self.plan, shown.profile, self.weights)
        return msgspec.structs.replace(shown, notes=(*shown.notes, note))

    def nothing(self, text: str, *, wrong: bool = False) -> None:
        """Say why there is no result."""
        self.found = self.shown = None
        self.problem.set_text(text if wrong else "")
        self.problem.set_visibility(wrong)
        self.hint.set_text("" if wrong else text)
        self.hint.set_visibility(not wrong)
        for place in (self.summary, self.gates):
            place.set_content("")
        self.extra.set_visibility(False)
        self.wide.set_visibility(False)

    def show(self, found: Explained, beside: SecondEvaluation | None) -> None:
        """Put a result in its places."""
        self.found = found
        self.problem.set_visibility(False)
        self.hint.set_visibility(False)
        self.extra.set_visibility(True)
        self.wide.set_visibility(True)
        if self.profile != found.evaluation.profile:
            self.profile = found.evaluation.profile
            self.weights = {}
            self._draw_weights(found)
        self.texts.set_content(str(result.texts(found.card.texts)))
        if beside is not None:
            pair = (beside.evaluation, beside.plan.rubric)
            shown = result.side_by_side((found.evaluation, self.plan.rubric), pair, beside.names)
            self.sides.set_content(str(shown))
        self.radar.set_content(str(found.card.dimensions_chart))
        self._weigh()

    def _draw_weights(self, found: Explained) -> None:
        self.sliders = {}
        self.weighing.clear()
        own = weights_of(self.plan, found.evaluation.profile)
        self.weighing.set_visibility(len(own) > 1)
        with self.weighing:
            with ui.element("div").classes("row"):
                with ui.element("h2"):
                    ui.label("Weights")
                ui.label("move one, and the others make room").classes("quiet grow")
                self.reset = ui.button("Reset", icon="restart_alt", on_click=self._reset).props("flat dense")
                self.reset.set_visibility(False)
            for name, weight in own.items():
                title = title_of(name, self.plan.rubric.dimensions[name])
                with ui.element("div").classes("weigh"):
                    ui.label(title)
                    slider = _Slider(min=0, max=100, step=1, value=round(weight * 100, 1))
                    slider.props["aria-label"] = f"Weight of {title}"
                    slider.on_value_change(lambda event, name=name: self._moved(name, event.value))
                    self.sliders[name] = (slider, ui.label(percent(weight)).classes("number"))

    def _moved(self, name: str, value: Any) -> None:
        if self.moving or self.found is None or value is None:
            return
        now = self.weights or dict(weights_of(self.plan, self.found.evaluation.profile))
        self.weights = rebalance(now, name, float(value) / 100)
        self._set_sliders(self.weights)
        self.reset.set_visibility(True)
        self._weigh()

    def _reset(self) -> None:
        if self.found is not None:
            self.weights = {}
            self._set_sliders(weights_of(self.plan, self.found.evaluation.profile))
            self.reset.set_visibility(False)
            self._weigh()

    def _set_sliders(self, weights: Mapping[str, float]) -> None:
        self.moving = True
        for name, (slider, label) in self.sliders.items():
            slider.set_value(round(weights[name] * 100, 1))
            label.set_text(percent(weights[name]))
        self.moving = False

    def _weigh(self) -> None:
        """Show score and verdict under the weights there are; nothing is judged again."""
        if self.found is None:
            return
        shown, before, rubric = self.found, None, self.plan.rubric
        if self.weights:
            plan = reweigh(self.plan, self.found.evaluation.profile, self.weights)
            shown, before = explain(plan, rejudge(plan, self.found.evaluation)), self.found.evaluation
        self.shown = shown
        self.summary.set_content(str(result.summary(shown.card, rubric, before)))
        self.gates.set_content(str(result.gates(shown.card.gates, rubric)))
        self.changes.set_content(str(result.changes(shown.turns, shown.releases, rubric)))
        self.waterfall.set_content(str(shown.card.steps_chart) or "<p class='quiet'>The score is open.</p>")
        self.table.set_content(str(result.dimensions(shown.card)))


def weights_note(plan: Plan, profile: str | None, moved: Mapping[str, float]) -> str:
    """What is to be known of a score that was weighed otherwise than its rubric does."""
    own = weights_of(plan, profile)
    told = ", ".join(
        f"{title_of(name, plan.rubric.dimensions[name])} {percent(weight)} (the rubric: {percent(own[name])})"
        for name, weight in moved.items()
        if name in own
    )
    return f"weighed otherwise than the rubric: {told}"


class _Slider(ui.slider):
    """A slider that is where the hand has moved it. What the server answers comes too late to be of use to it."""

    LOOPBACK = False


def _place() -> ui.html:
    return ui.html("", sanitize=False).classes("held")
