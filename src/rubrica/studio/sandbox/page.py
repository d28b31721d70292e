"""The sandbox: try a rubric on typed text, with explanations, other weights, and a second rubric beside it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

import msgspec
from fastapi import Request
from msgspec.structs import replace
from nicegui import ui

from rubrica.engine.plan import Plan
from rubrica.errors import InputError, RubricaError
from rubrica.games.execution import NOWHERE, execution_of, keep_execution, open_target
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.report.figures import figure, price
from rubrica.store.rubrics import RubricQuery
from rubrica.studio.browser_memory import sample_memory
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, empty, error_label, error_text, heading, notifying_errors
from rubrica.studio.sandbox.form import context_of, kept_form, reads_rounds
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace import catalogue, score_records
from rubrica.workspace.access import check_action
from rubrica.workspace.entry import RubricEntry

from .input import SandboxInput
from .picker import pick_rubric
from .result_panel import ResultPanel, SecondEvaluation, explain

VERSIONS_OFFERED = 50


@dataclass(frozen=True, slots=True)
class SandboxRubric:
    """A rubric at a version, compiled. `judged` asks the server's judges, where it has any; `plan` asks nobody."""

    entry: RubricEntry
    plan: Plan
    judged: Plan
    versions: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.entry.listing.name} {self.entry.version.version}"

    @property
    def place(self) -> str:
        """How an address names it."""
        return f"{self.entry.listing.id}@{self.entry.version.version}"


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/sandbox")
    async def sandbox(request: Request) -> None:
        visitor = studio.visitor(request)
        asked = request.query_params
        with frame(visitor, "Sandbox", "/sandbox"):
            with heading("Sandbox"):
                ui.link("Kept scores", "/scores")
            try:
                first = asked.get("rubric") or await _any(visitor)
                if first is None:
                    empty("There are no rubrics to try.", "Build one", lambda: ui.navigate.to("/build/new"))
                    return
                side = await _side(visitor, first)
                other = await _side(visitor, asked["with"]) if asked.get("with") else None
            except RubricaError as error:
                error_label(error)
                ui.link("Choose another rubric", "/sandbox")
                return
            sandbox = _SandboxPage(visitor, side, other)
            await sandbox.draw(_index(asked.get("example")))


async def _any(visitor: Visitor) -> str | None:
    found = await visitor.read(catalogue.browse, RubricQuery(order="name"), 1)
    return str(found[0].id) if found else None


async def _side(visitor: Visitor, reference: str) -> SandboxRubric:
    entry = await visitor.read(catalogue.entry, reference)
    editions = await visitor.read(catalogue.history, str(entry.listing.id), None, VERSIONS_OFFERED)
    labels = {edition.version: edition.version for edition in editions} | {entry.version.version: entry.version.version}
    run = visitor.service.work.of(visitor.caller.user_id)
    plan = await run(visitor.service.plans.of, entry.version.definition, entry.version.hash)
    return SandboxRubric(entry, replace(plan, judge=None), plan, labels)


def _index(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 6 else None


class _SandboxPage:
    """One person's sandbox: the rubric, perhaps a second one, the input, and what came of it."""

    def __init__(self, visitor: Visitor, side: SandboxRubric, other: SandboxRubric | None) -> None:
        self.visitor, self.side, self.other = visitor, side, other
        self.context: Context | None = None  # that the result shown was made of
        self.client, self.memory = ui.context.client, sample_memory(visitor.caller.user_id)
        self.typed = False
        self.turn = 0  # counts what was asked for, so that an answer that comes late is dropped

    async def draw(self, example: int | None) -> None:
        with card():
            self.pickers = ui.element("div").classes("row")
        with ui.element("div").classes("bench"):
            with card("What is judged"):
                self.input = SandboxInput(self._changed)
            near = ui.element("div").classes("pile")
        self.panel = ResultPanel(near, ui.element("div").classes("pile"))
        self._draw_sides()
        with notifying_errors():
            self.input.offer(self.side.plan, self.side.entry.version.examples)
            if example is not None or self.side.entry.version.examples:
                self.input.choose(example or 0)
        await self.judge()
        if example is None:
            await self.client.connected()
            await self._restore()

    async def _restore(self) -> None:
        """Bring back what was typed here before."""
        kept = kept_form(await self.memory.read())
        if kept is not None and not self.typed:
            self.input.fill(kept)
            self.input.example.set_value(None)
            await self.judge()

    async def _changed(self, typed: bool) -> None:
        """What was typed stays in this tab; an example is there anyway."""
        if typed:
            if not self.typed:
                self._tell_address()  # which may have asked for an example
            self.memory.keep(self.client, msgspec.to_builtins(self.input.form))
        else:
            self.memory.forget(self.client)
        self.typed = typed
        await self.judge()

    # --- what is judged by ---------------------------------------------------------------------------------

    def _draw_sides(self) -> None:
        self._draw_pickers()
        self.panel.draw(self.side.plan, self._draw_actions, compared=self.other is not None)

    def _draw_pickers(self) -> None:
        self.pickers.clear()
        with self.pickers:
            self._draw_picker("Rubric", self.side, second=False)
            ui.element("span").classes("grow")
            if self.other is None:
                ui.button("Compare", icon="compare_arrows", on_click=self._add_other).props("flat").classes("calm")
            else:
                self._draw_picker("Compared with", self.other, second=True)
                ui.button(icon="close", on_click=self._drop_other).props(
                    'flat round dense aria-label="Compare no longer"'
                )

    def _draw_picker(self, label: str, side: SandboxRubric, *, second: bool) -> None:
        with ui.element("div").classes("picker"):
            ui.label(label).classes("quiet")
            button = ui.button(side.entry.listing.name, on_click=lambda: self._pick(second)).props(
                "flat no-caps icon-right=expand_more"
            )
            button.props["aria-label"] = f"{label}: {side.entry.listing.name}. Choose another"
            button.classes("calm")
            version = ui.select(side.versions, value=side.entry.version.version, label="Version")
            version.props("outlined dense options-dense").classes("short")
            version.on_value_change(lambda event: self._load(f"{side.entry.listing.id}@{event.value}", second))
            if not second:
                ui.link("Open", f"/rubrics/{side.place}")

    async def _pick(self, second: bool) -> None:
        chosen = await pick_rubric(self.visitor, "Compare with which rubric?" if second else "Try which rubric?")
        if chosen is not None:
            await self._load(str(chosen), second)

    async def _add_other(self) -> None:
        """Beside it stands the version before, else whatever is chosen."""
        versions = list(self.side.versions)
        at = versions.index(self.side.entry.version.version)
        if len(versions) > 1:
            before = versions[at + 1] if at + 1 < len(versions) else versions[at - 1]
            await self._load(f"{self.side.entry.listing.id}@{before}", second=True)
        else:
            await self._pick(second=True)

    async def _drop_other(self) -> None:
        self.other = None
        await self._changed_sides()

    async def _load(self, reference: str, second: bool) -> None:
        with notifying_errors():
            side = await _side(self.visitor, reference)
            if second:
                self.other = side
            else:
                again = side.entry.listing.id == self.side.entry.listing.id
                self.side = side
                self.input.offer(side.plan, side.entry.version.examples)
                if not again and not self.input.form.response and side.entry.version.examples:
                    self.input.choose(0)
            await self._changed_sides()

    async def _changed_sides(self) -> None:
        self._tell_address()
        self._draw_sides()
        await self.judge()

    def _tell_address(self) -> None:
        beside = f"&with={quote(self.other.place)}" if self.other is not None else ""
        ui.navigate.history.replace(f"/sandbox?rubric={quote(self.side.place)}{beside}")

    # --- judging -------------------------------------------------------------------------------------------

    async def judge(self, *, asking: bool = False) -> None:
        """Judge what is filled in: by code, or with the server's judges."""
        self.turn += 1
        turn = self.turn
        form = self.input.form
        if not form.response.strip():
            self.panel.nothing("Paste a response, or pick an example, and it is judged as you type.")
            return
        try:
            context = context_of(form, rounds=reads_rounds(self.side.plan.rubric))
            plan = self.side.judged if asking else self.side.plan
            sides = [plan] if self.other is None else [plan, self.other.judged if asking else self.other.plan]
            service, caller = self.visitor.service, self.visitor.caller
            run = service.work.of(caller.user_id)
            async with service.spending.judging(caller, [(side, context) for side in sides]):
                evaluations = await score_records.judge_all(sides, context, run)
            found = await run(explain, self.side.plan, evaluations[0])
        except RubricaError as error:
            if turn == self.turn:
                self.panel.nothing(error_text(error), wrong=True)
            return
        if turn == self.turn:
            self.context = context
            beside = None
            if self.other is not None:
                beside = SecondEvaluation(evaluations[1], self.other.plan, (self.side.name, self.other.name))
            self.panel.show(found, beside)
            self._tell_judges(found.evaluation)

    async def _ask(self) -> None:
        self.ask.props("loading")
        try:
            with notifying_errors():
                check_action(await self.visitor.still_here(), "asking a judge")
                await self.judge(asking=True)
        finally:
            self.ask.props(remove="loading")

    async def _keep(self) -> None:
        with notifying_errors():
            shown = self.panel.evaluation
            if shown is None or self.context is None:
                raise InputError("there is nothing to keep yet: fill in a response")
            visitor = self.visitor
            target, _ = await visitor.read(open_target, self.side.place)
            now = visitor.service.clock()
            execution = execution_of(target, self.context, NOWHERE, shown, visitor.caller.user_id, now)
            kept = await visitor.write(keep_execution, target, execution)
            self.kept.clear()
            with self.kept:
                told = "open" if kept.raw_score is None else figure(round(kept.raw_score, 2))
                ui.label(f"Kept as a score of yours: {kept.verdict.replace('_', ' ')}, {told}.").classes("quiet")
                ui.link("See it", f"/scores/{kept.id}")
                ui.link("All that you kept", "/scores")

    # --- what can be done with it ------------------------------------------------------------------------

    def _draw_actions(self) -> None:
        jury = self.visitor.service.jury
        with ui.element("div").classes("row"):
            self.ask = ui.button("Judge", icon="gavel", on_click=self._ask).props("unelevated")
            if self.visitor.caller.may("player"):
                keep = ui.button("Keep this score", icon="bookmark_add", on_click=self._keep)
                keep.props("flat").classes("calm")
            self.kept = ui.element("div").classes("row")
        self.asked = ui.label().classes("quiet")
        self.has_jury = jury is not None and self.visitor.caller.may("player")
        self._tell_judges(None)

    def _tell_judges(self, found: Evaluation | None) -> None:
        """Say who judged what is shown, or who may."""
        wanted = self.side.plan.judged or (self.other is not None and self.other.plan.judged)
        self.ask.set_visibility(self.has_jury and wanted)
        if not wanted:
            said = "Rules alone score this rubric: the result is complete as you type."
        elif self.has_jury:
            said = "As you type, rules stand in for the judge. Judge asks the model, which costs."
        elif self.visitor.service.jury is not None:
            said = "Having a judge asked needs the role player: rules stand in."
        else:
            said = "This rubric wants a judge and the server has none (rubrica serve --judge …): rules stand in."
        if found is not None:
            self.kept.clear()
            if judges := sorted({one.judge for one in found.dimensions.values() if one.judge}):
                cost = price(found.cost)
                said = f"Judged by {', '.join(judges)}{f' for {cost}' if cost else ''}."
        self.asked.set_text(said)
