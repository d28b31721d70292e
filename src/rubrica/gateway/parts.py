"""Opens the models, graders and classifier that the settings name, and puts them together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from rubrica.judges.jury import Jury
from rubrica.llm.connect import connect
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
from .classifier import Classifier, ModelClassifier, OfflineClassifier
from .controls import Controls
from .embedded import GuidedUpstream
from .experiment import CONTROL, Experiment
from .flow import Route
from .grading import Grader
from .settings import EMBEDDED, GatewaySettings, GradingSettings
from .upstream import Upstream
from .upstreams.connect import connect_upstream
from .variants import with_judging, with_thresholds
from .workers import Workers

AT_ONCE = 1024
"""Calls under way at once, per provider and key, unless the settings say otherwise. The limit adapts below that."""

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
        self._upstreams: dict[str, Upstream] = {}
        self._closing: list[Model | Jury] = []
        self.workers = Workers()

    def upstream(self, name: str) -> Upstream:
        """A model that answers requests."""
        if name not in self._upstreams:
            price(name, Usage())  # looks it up now, which takes a while
            found = self._connecting(name, self.settings, session=self._session, gates=self._gates)
            self._upstreams[name] = GuidedUpstream(found) if name == EMBEDDED else found
        return self._upstreams[name]

    def jury(self, names: tuple[str, ...]) -> Jury:
        """Models that grade. Their replies are not kept: no two answers are the same."""
        jury = Jury(names, self.settings, cached=False)
        self._closing.append(jury)
        return jury

    def classifier(self, name: str) -> Model:
        model = connect(name, self.settings, session=self._session, gates=self._gates)
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
    experiment: Experiment | None = None

    @classmethod
    def open(cls, settings: GatewaySettings, models: GatewayModels) -> GatewayParts:
        """Connect and compile everything the settings name. What cannot be is told now, not by the first request."""
        jury = models.jury(settings.grader) if settings.grader else None
        routes = {CONTROL: _route(settings, models, _rubric(settings.grading), jury)}
        if settings.experiment is None:
            return cls(models, routes)
        wanted = settings.experiment
        other = with_judging(load(wanted.rubric), mode=settings.grading.mode, stop=settings.grading.stop)
        routes[wanted.name] = _route(settings, models, other, jury)
        return cls(models, routes, Experiment(wanted.name, wanted.share))

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
            route = replace(route, tier0=self.models.upstream(controls.tier0))
        if controls.tier1 is not None:
            route = replace(route, tier1=self.models.upstream(controls.tier1))
        return route


def _rubric(settings: GradingSettings) -> Rubric:
    return with_judging(
        with_thresholds(load(settings.rubric), settings.thresholds), mode=settings.mode, stop=settings.stop
    )


def _route(settings: GatewaySettings, models: GatewayModels, rubric: Rubric, jury: Jury | None) -> Route:
    grader = Grader(
        rubric,
        jury.judge(rubric) if jury is not None else None,
        deadline=settings.grading.deadline,
        characters=settings.grading.characters,
        workers=models.workers,
    )
    grader.prepare(TYPES)
    return Route(
        models.upstream(settings.tier0),
        models.upstream(settings.tier1) if settings.tier1 is not None else None,
        grader,
        _classifier(settings, models),
        settings.grading.ungraded,
        jury is not None and all(check_form(name).sees_pictures for name in settings.grader),
    )


def _classifier(settings: GatewaySettings, models: GatewayModels) -> Classifier:
    OfflineClassifier()("Is it ready, or is it not?")  # reads the weights now, not with the first request
    wanted = settings.classifier
    model = ModelClassifier(models.classifier(wanted.model), price=price) if wanted.model is not None else None
    return Classifier(model, sure_from=wanted.sure_from, remembered=wanted.remembered)
