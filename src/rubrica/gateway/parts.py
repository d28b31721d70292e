"""Opens the models, graders and classifier that the settings name, and puts them together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from rubrica.judges.jury import Jury
from rubrica.judges.question_classifier import ModelClassifier
from rubrica.llm.breaker import CircuitBreaker
from rubrica.llm.budget import Price
from rubrica.llm.connect import connect
from rubrica.llm.http import HttpSession
from rubrica.llm.model import Model, ModelError, Usage
from rubrica.llm.price import price
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.provider_table import check_form
from rubrica.llm.settings import Settings
from rubrica.llm.shared_breakers import SharedBreakers
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.text.question_type import TYPES

from .chat import Chat
from .checks import check_settings
from .classifier import Classifier, OfflineClassifier
from .controls import Controls
from .deployed_model import Deployment
from .deployment_settings import (
    CooldownSettings,
    DeploymentSettings,
    TierModels,
    deployed_settings,
    deployment_names,
    deployment_place,
)
from .deployments import DeploymentPool
from .embedded import GuidedUpstream
from .experiment import CONTROL, Experiment
from .flow import Route
from .grading import Grader
from .learned_gate.holder import GateHolder
from .learned_gate.learn import GateTerms
from .middle_tiers import MiddleTiers
from .prices import prices_of
from .setting_groups import GradingSettings, PatienceSettings
from .settings import EMBEDDED, GatewaySettings
from .type_judges import GraderJuries
from .upstream import Completion, Upstream
from .upstreams.connect import connect_upstream
from .upstreams.embeddings import EmbeddingsUpstream, connect_embeddings
from .variants import with_judging, with_known_thresholds, with_thresholds
from .workers import Workers

AT_ONCE = 1024
"""Calls under way at once, per model and key, unless the settings say otherwise. The limit adapts below that."""

TOOL_CALLS = Path(__file__).parent / "prompts" / "tool-call.yaml"
"""The rubric that calls of tools are graded by."""

PATIENCE = 300.0
"""Seconds for one attempt, unless the settings say otherwise: a long answer takes longer than a judge's."""


class ModelConnector(Protocol):
    """From a model's name to the model, over connections and limits that are shared."""

    def __call__(self, spec: str, settings: Settings, *, session: HttpSession, gates: ProviderLimits) -> Upstream: ...


class GatewayModels:
    """The models by name, each connected when it is first wanted. Connections, limits and breakers are shared."""

    def __init__(self, settings: Settings, connecting: ModelConnector = connect_upstream) -> None:
        # A budget of commands would end the grading and leave the spending: the gateway has budgets of its own.
        changes: dict[str, object] = {"budget": None}
        for name, value in (("concurrency", AT_ONCE), ("timeout", PATIENCE), ("deadline", 2 * PATIENCE)):
            if name not in settings.origins and getattr(settings, name) == Settings.model_fields[name].default:
                changes[name] = value
        self.settings = settings.model_copy(update=changes)
        self._connecting = connecting
        self.noticed: Callable[[str, ModelError], None] = lambda _model, _error: None  # told of every call that failed
        self.checked: Callable[[Deployment, Completion], None] = lambda _one, _answer: None  # told what checks cost
        self._session = HttpSession(connections=0)  # as many as there are calls
        # A grader or a classifier that fails must not keep a tier from answering, even one of the same model.
        uses = ("answers", "grades", "types")
        self._gates, self._judging, self._classifying = (ProviderLimits(self._notice, use) for use in uses)
        self._upstreams: dict[tuple[str, float | None], Upstream] = {}
        self._pools: list[DeploymentPool] = []
        self._closing: list[Model | Jury] = []
        self.workers = Workers()

    def upstream(self, name: str, seconds: float | None = None) -> Upstream:
        """A model that answers requests, each within so many seconds; None: within the deadline of all calls."""
        key = (name, seconds)
        if key not in self._upstreams:
            price(name, Usage())  # looks it up now, which takes a while
            found = self._connecting(name, self._within(seconds), session=self._session, gates=self._gates)
            self._upstreams[key] = GuidedUpstream(found) if name == EMBEDDED else found
        return self._upstreams[key]

    def _within(self, seconds: float | None) -> Settings:
        """The settings of models that have so many seconds for a call."""
        if seconds is None:
            return self.settings
        limits = {"deadline": seconds, "timeout": min(seconds, self.settings.timeout)}
        return self.settings.model_copy(update=limits)

    def embeddings(self, name: str) -> EmbeddingsUpstream:
        """A model that turns texts into vectors."""
        price(name, Usage())  # looks it up now, which takes a while
        return connect_embeddings(name, self.settings, session=self._session, gates=self._gates)

    def tier(
        self, tier: TierModels, seconds: float | None, cooldown: CooldownSettings, hedge: float | None = None
    ) -> Upstream:
        """A tier: its one model, or its deployments."""
        if isinstance(tier, str):
            return self.upstream(tier, seconds)
        part = seconds / len(tier) if seconds is not None else None
        deployments = [
            Deployment(
                name,
                self._deployed(one, one.seconds or part, alone=len(tier) == 1),
                one.weight,
                one.order,
                deployment_place(one, self.settings),
            )
            for name, one in zip(deployment_names(tier), tier, strict=True)
        ]
        pool = DeploymentPool(
            deployments,
            seconds,
            cooldown,
            self.settings.attempts,
            checked=lambda one, answer: self.checked(one, answer),
            hedge=hedge,
        )
        self._pools.append(pool)
        return pool

    def share(self, shared: SharedBreakers) -> None:
        """Tell other processes which models are down and which deployments rest, and learn it from them."""
        for limits in (self._gates, self._judging, self._classifying):
            limits.share(shared)
        for pool in self._pools:
            pool.share(shared)

    def _deployed(self, one: DeploymentSettings, seconds: float | None, *, alone: bool) -> Upstream:
        """One deployment of a tier. Where it has others beside it, they are asked in place of trying it again."""
        own = deployed_settings(one, self._within(seconds))
        changed = own if alone else own.model_copy(update={"attempts": 1})
        price(one.model, Usage())  # looks it up now, which takes a while
        found = self._connecting(one.model, changed, session=self._session, gates=self._gates)
        return GuidedUpstream(found) if one.model == EMBEDDED else found

    def jury(self, names: tuple[str, ...], prices: Price) -> Jury:
        """Models that grade. Their replies are not kept: no two answers are the same."""
        jury = Jury(names, self.settings, cached=False, prices=prices, limits=self._judging)
        self._closing.append(jury)
        return jury

    def classifier(self, name: str) -> Model:
        model = connect(name, self.settings, session=self._session, gates=self._classifying)
        self._closing.append(model)
        return model

    @property
    def breakers(self) -> tuple[CircuitBreaker, ...]:
        """Of the models that answer."""
        return self._gates.breakers

    @property
    def other_breakers(self) -> tuple[CircuitBreaker, ...]:
        """Of the models that grade and classify."""
        return self._judging.breakers + self._classifying.breakers

    def _notice(self, model: str, error: ModelError) -> None:
        self.noticed(model, error)

    async def close(self) -> None:
        for one in (*self._upstreams.values(), *self._pools, *self._closing):
            await one.close()
        await self._session.close()
        self.workers.close()


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """Everything that answers take part in, ready to be used."""

    models: GatewayModels
    routes: dict[str, Route]  # by the arm of the experiment
    patience: PatienceSettings
    prices: Price = price
    experiment: Experiment | None = None

    @classmethod
    def open(cls, settings: GatewaySettings, models: GatewayModels) -> GatewayParts:
        """Connect and compile everything the settings name. What cannot be is told now, not by the first request."""
        prices = prices_of(settings.prices)
        rubric = graded_by(settings.grading)
        check_settings(settings, models.settings, prices, rubric)
        graders = GraderJuries(
            models.jury(settings.grader, prices) if settings.grader else None,
            {name: models.jury(names, prices) for name, names in settings.grading.graders.items()},
        )
        routes = {CONTROL: _route(settings, models, rubric, graders)}
        if settings.experiment is None:
            return cls(models, routes, settings.patience, prices)
        wanted = settings.experiment
        other = _judged(with_known_thresholds(load(wanted.rubric), settings.grading.thresholds), settings.grading)
        routes[wanted.name] = _route(settings, models, other, graders)
        return cls(models, routes, settings.patience, prices, Experiment(wanted.name, wanted.share))

    @property
    def main(self) -> Route:
        return self.routes[CONTROL]

    def variant(self, chat: Chat) -> str:
        """The arm of the experiment that a request is in; empty where there is none."""
        return "" if self.experiment is None else self.experiment.arm(chat)

    def route(self, variant: str, controls: Controls) -> Route:
        """The way of a request, with the models that it chose."""
        route = self.routes[variant or CONTROL]
        if controls.tier0 is not None:
            seconds = self.patience.tier0 if route.tier1 is not None else None
            route = replace(route, tier0=self.models.upstream(controls.tier0, seconds), **_OTHER_MODELS)
        if controls.tier1 is not None:
            route = replace(route, tier1=self.models.upstream(controls.tier1, self.patience.tier1), **_OTHER_MODELS)
        return route


_OTHER_MODELS: dict[str, Any] = {"gate": None, "made_for": ""}
"""What the learned gate knows of a way with models that a request chose: nothing."""


def graded_by(settings: GradingSettings) -> Rubric:
    """The rubric that answers are graded by."""
    return _judged(with_thresholds(load(settings.rubric), settings.thresholds), settings)


def _judged(rubric: Rubric, settings: GradingSettings) -> Rubric:
    """The rubric, judged as the settings say. Offline grades count as bounds unless somebody wants their points."""
    offline = settings.offline or rubric.judging.offline or "bounds"
    return with_judging(rubric, mode=settings.mode, stop=settings.stop, offline=offline, reasons="short")


def _route(settings: GatewaySettings, models: GatewayModels, rubric: Rubric, graders: GraderJuries) -> Route:
    grader = Grader(
        rubric,
        graders.judge(rubric),
        deadline=settings.grading.deadline,
        characters=settings.grading.characters,
        workers=models.workers,
    )
    grader.prepare(TYPES)
    every_grader = [*settings.grader, *(name for names in settings.grading.graders.values() for name in names)]
    gate = settings.learned_gate
    terms = GateTerms(gate.points / 100, gate.confidence) if gate.points is not None else None
    cooldown, hedge, patience = settings.cooldown, settings.hedge, settings.patience
    alone = isinstance(settings.tier0, str) or len(settings.tier0) == 1
    return Route(
        models.tier(settings.tier0, patience.tier0 if settings.tier1 is not None else None, cooldown, hedge.tier0),
        models.tier(settings.tier1, patience.tier1, cooldown, hedge.tier1) if settings.tier1 is not None else None,
        grader,
        _classifier(settings, models),
        settings.grading.ungraded,
        bool(settings.grader) and all(check_form(name).sees_pictures for name in every_grader),
        settings.grading.unsafe == "mark",
        GateHolder(terms, gate.every) if terms is not None else None,
        _measurer(settings, models, rubric, graders),
        made_for(settings, rubric),
        _call_grader(settings, models, graders),
        MiddleTiers(
            tuple(models.tier(one, patience.tier0, cooldown, hedge.tier0) for one in settings.middle),
        ),
        hedge.tier0 if alone else None,
    )


def _call_grader(settings: GatewaySettings, models: GatewayModels, graders: GraderJuries) -> Grader | None:
    """Who is asked whether the right tool was called; nobody, where no model grades."""
    rubric = load(TOOL_CALLS)
    judge = graders.judge(rubric)
    if judge is None:
        return None
    grading = settings.grading
    return Grader(
        rubric,
        judge,
        deadline=grading.deadline,
        characters=grading.characters,
        workers=models.workers,
    )


def _measurer(settings: GatewaySettings, models: GatewayModels, rubric: Rubric, graders: GraderJuries) -> Grader | None:
    """Who grades what is compared: always to the end, for a score is wanted and not only a verdict."""
    own, prices = settings.shadow.grader, prices_of(settings.prices)
    judging = GraderJuries(models.jury(own, prices)) if own else graders
    whole = with_judging(rubric, stop="never")
    judge = judging.judge(whole) if settings.shadow.share else None
    if judge is None:
        return None
    return Grader(
        whole,
        judge,
        deadline=settings.grading.deadline,
        characters=settings.grading.characters,
        workers=models.workers,
    )


def made_for(settings: GatewaySettings, rubric: Rubric) -> str:
    """A digest of all that changes what a comparison teaches: other models or thresholds make it worthless."""
    named: tuple[object, ...] = (settings.tier0, settings.tier1, settings.grader, settings.shadow.grader, rubric.hash)
    if settings.middle:
        named = (*named, "above", settings.middle)  # comparisons tell what comes of the tiers between
    if settings.grading.graders:
        named = (*named, sorted(settings.grading.graders.items()))
    return hashlib.sha256(repr(named).encode()).hexdigest()[:16]


def _classifier(settings: GatewaySettings, models: GatewayModels) -> Classifier:
    OfflineClassifier()("Is it ready, or is it not?")  # reads the weights now, not with the first request
    wanted, prices = settings.classifier, prices_of(settings.prices)
    model = ModelClassifier(models.classifier(wanted.model), price=prices) if wanted.model is not None else None
    return Classifier(model, sure_from=wanted.sure_from, remembered=wanted.remembered)
