"""Opens the models, graders and classifier that the settings name, and puts them together."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rubrica.judges.jury import Jury
from rubrica.judges.question_classifier import ModelClassifier
from rubrica.llm.connect import check_keys, connect
from rubrica.llm.http import HttpSession
from rubrica.llm.model import Model, Usage
from rubrica.llm.price import price
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.provider_table import check_form
from rubrica.llm.settings import Settings
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.text.question_type import TYPES

from .chat import Chat
from .classifier import Classifier, OfflineClassifier
from .controls import Controls
from .embedded import GuidedUpstream
from .experiment import CONTROL, Experiment
from .flow import Route
from .grading import Grader
from .learned_gate.holder import GateHolder
from .learned_gate.learn import GateTerms
from .settings import EMBEDDED, GatewaySettings, GradingSettings, PatienceSettings
from .upstream import Upstream
from .upstreams.connect import connect_upstream
from .variants import with_judging, with_known_thresholds, with_thresholds
from .workers import Workers

AT_ONCE = 1024
"""Calls under way at once, per model and key, unless the settings say otherwise. The limit adapts below that."""

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
        self._session, self._gates = HttpSession(connections=0), ProviderLimits()  # 0: as many as there are calls
        self._upstreams: dict[tuple[str, float | None], Upstream] = {}
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

    def jury(self, names: tuple[str, ...]) -> Jury:
        """Models that grade. Their replies are not kept: no two answers are the same."""
        jury = Jury(names, self.settings, cached=False)
        self._closing.append(jury)
        return jury

    def classifier(self, name: str) -> Model:
        # Limits of its own: that questions cannot be classified must not keep a tier from answering them.
        model = connect(name, self.settings, session=self._session, gates=ProviderLimits())
        self._closing.append(model)
        return model

    async def close(self) -> None:
        for one in (*self._upstreams.values(), *self._closing):
            await one.close()
        await self._session.close()
        self.workers.close()


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """Everything that answers take part in, ready to be used."""

    models: GatewayModels
    routes: dict[str, Route]  # by the arm of the experiment
    patience: PatienceSettings
    experiment: Experiment | None = None

    @classmethod
    def open(cls, settings: GatewaySettings, models: GatewayModels) -> GatewayParts:
        """Connect and compile everything the settings name. What cannot be is told now, not by the first request."""
        named = (settings.tier0, settings.tier1, settings.classifier.model, *settings.grader, *settings.shadow.grader)
        check_keys([name for name in named if name is not None], models.settings)
        jury = models.jury(settings.grader) if settings.grader else None
        routes = {CONTROL: _route(settings, models, graded_by(settings.grading), jury)}
        if settings.experiment is None:
            return cls(models, routes, settings.patience)
        wanted = settings.experiment
        other = _judged(with_known_thresholds(load(wanted.rubric), settings.grading.thresholds), settings.grading)
        routes[wanted.name] = _route(settings, models, other, jury)
        return cls(models, routes, settings.patience, Experiment(wanted.name, wanted.share))

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


def _route(settings: GatewaySettings, models: GatewayModels, rubric: Rubric, jury: Jury | None) -> Route:
    grader = Grader(
        rubric,
        jury.judge(rubric) if jury is not None else None,
        deadline=settings.grading.deadline,
        characters=settings.grading.characters,
        workers=models.workers,
    )
    grader.prepare(TYPES)
    gate = settings.learned_gate
    terms = GateTerms(gate.points / 100, gate.confidence) if gate.points is not None else None
    return Route(
        models.upstream(settings.tier0, settings.patience.tier0 if settings.tier1 is not None else None),
        models.upstream(settings.tier1, settings.patience.tier1) if settings.tier1 is not None else None,
        grader,
        _classifier(settings, models),
        settings.grading.ungraded,
        jury is not None and all(check_form(name).sees_pictures for name in settings.grader),
        settings.grading.unsafe == "mark",
        GateHolder(terms, gate.every) if terms is not None else None,
        _measurer(settings, models, rubric, jury),
        made_for(settings, rubric),
    )


def _measurer(settings: GatewaySettings, models: GatewayModels, rubric: Rubric, jury: Jury | None) -> Grader | None:
    """Who grades what is compared: always to the end, for a score is wanted and not only a verdict."""
    judging = models.jury(settings.shadow.grader) if settings.shadow.grader else jury
    if not settings.shadow.share or judging is None:
        return None
    whole = with_judging(rubric, stop="never")
    return Grader(
        whole,
        judging.judge(whole),
        deadline=settings.grading.deadline,
        characters=settings.grading.characters,
        workers=models.workers,
    )


def made_for(settings: GatewaySettings, rubric: Rubric) -> str:
    """A digest of all that changes what a comparison teaches: other models or thresholds make it worthless."""
    named = (settings.tier0, settings.tier1, settings.grader, settings.shadow.grader, rubric.hash)
    return hashlib.sha256(repr(named).encode()).hexdigest()[:16]


def _classifier(settings: GatewaySettings, models: GatewayModels) -> Classifier:
    OfflineClassifier()("Is it ready, or is it not?")  # reads the weights now, not with the first request
    wanted = settings.classifier
    model = ModelClassifier(models.classifier(wanted.model), price=price) if wanted.model is not None else None
    return Classifier(model, sure_from=wanted.sure_from, remembered=wanted.remembered)
