"""The sandbox's input: prompt, response, conversation and metrics, typed or from an example."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nicegui import ui

from rubrica.engine.plan import Plan
from rubrica.studio.criterion_lines import EXAMPLE, points_text, read_criterion_lines
from rubrica.studio.parts import notifying_errors
from rubrica.studio.sandbox.form import ROLES, Form, FormMetric, FormTurn, Role, form_of, names_read, with_names

LONGEST_TEXT = 200_000
"""Characters of a text that is typed or pasted; what is longer is judged by `rubrica run`."""
DEBOUNCE = 300
"""Milliseconds without a keystroke before a text is judged."""
MOST_TURNS, MOST_METRICS = 40, 60
SPOKEN: dict[Role, str] = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}


class SandboxInput:
    """The fields, and what they say. `changed` is called with whether it was typed, or is an example as it stands."""

    def __init__(self, changed: Callable[[bool], Awaitable[None]]) -> None:
        self._tell = changed
        self._filling = False
        self._turns: list[tuple[ui.select, ui.textarea]] = []
        self._metrics: list[tuple[ui.input, ui.input]] = []
        self._choices: Mapping[str, Sequence[str]] = {}
        self._names: tuple[str, ...] = ()
        self._examples: Sequence[Mapping[str, Any]] = ()
        self._reads_criteria = False
        self._draw()

    @property
    def form(self) -> Form:
        """What is filled in."""
        return Form(
            self.prompt.value or "",
            self.response.value or "",
            tuple(FormTurn(_role(role.value), text.value or "") for role, text in self._turns),
            tuple(FormMetric(name.value or "", value.value or "") for name, value in self._metrics),
            self.rest.value or "",
            (self.criteria.value or "") if self._reads_criteria else "",
            self.reference.value or "",
        )

    def offer(self, plan: Plan, examples: Sequence[Mapping[str, Any]]) -> None:
        """Offer the examples of a rubric, and a field for every name that it reads; what is filled in stays."""
        self._examples = examples
        self._names = names_read(plan)
        self._reads_criteria = plan.rubric.criteria_scale is not None
        self.listed.set_visibility(self._reads_criteria)
        profiles, notes = plan.rubric.profiles, plan.rubric.notes
        self._choices = {chosen.by: list(chosen.named) for chosen in (profiles, notes) if chosen is not None}
        labels = {index: str(case.get("id") or f"Example {index + 1}") for index, case in enumerate(examples)}
        self._filling = True
        self.example.set_options(labels, value=None)
        self.example.set_visibility(bool(labels))
        self._filling = False
        form = self.form
        kept = tuple(metric for metric in form.metrics if metric.value.strip())
        self.fill(replace(form, metrics=kept))

    def choose(self, index: int) -> None:
        """Fill in one of the examples."""
        if 0 <= index < len(self._examples):
            self._filling = True
            self.example.set_value(index)
            self._filling = False
            self.fill(form_of(self._examples[index]))

    def fill(self, form: Form) -> None:
        """Fill everything in, without telling of it."""
        form = with_names(form, self._names)
        self._filling = True
        self.prompt.set_value(form.prompt)
        self.response.set_value(form.response)
        self.rest.set_value(form.rest)
        self.criteria.set_value(form.criteria)
        self.reference.set_value(form.reference)
        self._count()
        self._turns, self._metrics = [], []
        self.turns.clear()
        self.metrics.clear()
        for turn in form.turns[:MOST_TURNS]:
            self._add_turn(turn)
        for metric in form.metrics[:MOST_METRICS]:
            self._add_metric(metric)
        if form.turns:
            self.history.set_value(True)
        if any(metric.value for metric in form.metrics) or self._names:
            self.numbers.set_value(True)
        if form.rest:
            self.other.set_value(True)
        if form.reference:
            self.compared.set_value(True)
        self._filling = False

    def _draw(self) -> None:
        self.example = ui.select({}, label="Example", on_change=self._picked)
        self.example.props("outlined dense options-dense clearable").classes("full")
        self.prompt = self._area("Prompt", 3)
        self.response = self._area("Response", 8)
        with ui.element("div").classes("rows") as self.listed:
            self.criteria = self._area("Criteria of this case, one on each line", 3)
            self.criteria.props["placeholder"] = EXAMPLE
            self.counted = ui.label().classes("quiet").props('role="status"')
            self.criteria.on_value_change(self._count)
        with ui.expansion("Reference").props("dense switch-toggle-side").classes("input-fold") as self.compared:
            ui.label("An answer that is known to be good. The judge holds the response against what it says.").classes(
                "quiet"
            )
            self.reference = self._area("Reference answer", 3)
        with (
            ui.expansion("What was said before").props("dense switch-toggle-side").classes("input-fold") as self.history
        ):
            self.turns = ui.element("div").classes("rows")
            ui.button("Add a turn", icon="add", on_click=self._new_turn).props("flat dense")
        with ui.expansion("Metrics").props("dense switch-toggle-side").classes("input-fold") as self.numbers:
            ui.label("Names that formulas read, such as response_time.").classes("quiet")
            self.metrics = ui.element("div").classes("rows")
            ui.button("Add a metric", icon="add", on_click=self._new_metric).props("flat dense")
        with ui.expansion("Other context").props("dense switch-toggle-side").classes("input-fold") as self.other:
            ui.label("Images, game, player and whatever else, as a JSON object.").classes("quiet")
            self.rest = self._area("Other context (JSON)", 3).props("input-class=mono")

    def _area(self, label: str, rows: int) -> ui.textarea:
        area = ui.textarea(label, on_change=self._told)
        area.props(
            f"outlined autogrow debounce={DEBOUNCE} maxlength={LONGEST_TEXT} input-style=min-height:{rows * 1.5}em"
        )
        return area.classes("full")

    def _count(self) -> None:
        self.counted.set_text(points_text(line.points for line in read_criterion_lines(self.criteria.value or "")))

    # Whether a change is ours is known while it is made: a coroutine would ask too late.

    def _told(self) -> Awaitable[None] | None:
        return None if self._filling else self._changed()

    def _picked(self, event: Any) -> Awaitable[None] | None:
        return None if self._filling or event.value is None else self._pick(int(event.value))

    async def _pick(self, index: int) -> None:
        with notifying_errors():
            self.choose(index)
        await self._tell(False)

    async def _changed(self) -> None:
        await self._tell(True)

    async def _new_turn(self) -> None:
        if len(self._turns) < MOST_TURNS:
            last = self._turns[-1][0].value if self._turns else "assistant"
            self._add_turn(FormTurn("user" if last == "assistant" else "assistant", ""))

    def _add_turn(self, turn: FormTurn) -> None:
        with self.turns, ui.element("div").classes("entry") as row:
            role = ui.select(dict(SPOKEN), value=turn.role, label="Who", on_change=self._told)
            role.props("outlined dense options-dense").classes("short")
            text = ui.textarea("Said", value=turn.text, on_change=self._told)
            text.props(f"outlined dense autogrow debounce={DEBOUNCE} maxlength={LONGEST_TEXT}").classes("grow")
            pair = (role, text)
            self._turns.append(pair)

            async def remove() -> None:
                self._turns.remove(pair)
                row.delete()
                await self._changed()

            ui.button(icon="close", on_click=remove).props('flat round dense aria-label="Remove this turn"')

    def _new_metric(self) -> None:
        if len(self._metrics) < MOST_METRICS:
            self._add_metric(FormMetric(""))

    def _add_metric(self, metric: FormMetric) -> None:
        known = metric.name in self._names
        with self.metrics, ui.element("div").classes("entry") as row:
            name = ui.input("Name", value=metric.name, on_change=self._told, autocomplete=list(self._names))
            name.props(f"outlined dense debounce={DEBOUNCE} maxlength=100" + (" readonly" if known else ""))
            name.classes("grow")
            choices = self._choices.get(metric.name, ())
            value = ui.input("Value", value=metric.value, on_change=self._told, autocomplete=list(choices))
            value.props(f"outlined dense debounce={DEBOUNCE} maxlength=1000").classes("grow")
            value.props["aria-label"] = f"Value of {metric.name}" if metric.name else "Value"
            if choices:
                value.props["placeholder"] = ", ".join(choices)
            pair = (name, value)
            self._metrics.append(pair)

            async def remove() -> None:
                self._metrics.remove(pair)
                row.delete()
                await self._changed()

            button = ui.button(icon="close", on_click=remove).props("flat round dense")
            button.props["aria-label"] = f"Remove {metric.name or 'this metric'}"


def _role(value: object) -> Role:
    return next((role for role in ROLES if role == value), "user")
