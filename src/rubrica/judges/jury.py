"""The Jury: the models a user named, as judges of any rubric. Connections, limits, cache and budget are shared."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rubrica.errors import RubricaError
from rubrica.llm.budget import Budget, Price
from rubrica.llm.cache import Cached, ReplyCache
from rubrica.llm.connect import check_keys, connect
from rubrica.llm.estimate import CostEstimate, EstimatingModel
from rubrica.llm.model import Model, Request
from rubrica.llm.price import price
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.provider_table import check_form
from rubrica.llm.public import PublicModel, by_public_name, public_price
from rubrica.llm.scripted import Recorder
from rubrica.llm.settings import Settings, load_settings
from rubrica.lru_cache import LruCache
from rubrica.model.context import Context
from rubrica.model.evaluation import Unscored
from rubrica.model.judge import Judge, QuestionClass
from rubrica.model.rubric import Rubric

from .exchange import AskingTerms
from .fence import TokenSource, keyed_token, process_token
from .judge import ModelJudge
from .preference import LETTERS, Preference, PreferenceJudge, check_responses, pool_preferences
from .question_classifier import REMEMBERED, ClassifyingJudge, ModelClassifier
from .quote import Quote, asks_type, calls_of, quote_usages, rank_usages, type_usages, usages_of

REPEAT_TEMPERATURE = 0.7
"""Repeats at temperature 0 would only repeat themselves."""

TYPE_SECONDS = 60.0
"""How long a model may take to tell the type of a question."""


class Jury:
    """One or several models by name, ready to judge. Use it in ``async with``: closing it closes every connection.

    With several models, or with repeats, the votes are pooled as the rubric's `judging.pool` says. `warm` asks at the
    temperature of repeats in any case, for a caller that repeats whole evaluations. With `public`, scores name models
    without where they run, and tell the kinds of their troubles only: for evaluations that others read. `prices` take
    the place of the list that comes with Rubrica, and a `budget` that of the settings, where others spend from it too.
    """

    def __init__(
        self,
        names: Sequence[str],
        settings: Settings | None = None,
        *,
        repeats: int | None = None,
        warm: bool = False,
        cached: bool = True,
        record: Path | None = None,
        seed: int = 0,
        dry: bool = False,
        public: bool = False,
        prices: Price | None = None,
        limits: ProviderLimits | None = None,
        budget: Budget | None = None,
    ) -> None:
        _check_names(names, record)
        settings = load_settings() if settings is None else settings
        self._repeats, self._price = repeats, price if prices is None else prices
        self._warm = warm
        self._aliases = {name: alias for alias, name in by_public_name(names).items()} if public else {}
        self._seed = seed  # of the order in which a judge is shown dimensions; 0: as written
        self.estimates: list[CostEstimate] = []
        self.cache = ReplyCache(settings.cache) if cached and not dry and settings.cache is not None else None
        self._models: dict[str, Model] = {}
        self._forget: dict[str, Callable[[Request], None]] = {}
        self._fence: TokenSource = process_token
        self._types = LruCache[bytes, QuestionClass](REMEMBERED)
        self._limits = limits or ProviderLimits()
        if budget is None and settings.budget is not None:
            budget = Budget(settings.budget, self._price)
        if dry:
            counting = [EstimatingModel(name, self._price) for name in names]
            self._models = {model.name: model for model in counting}
            self.estimates = [model.estimate for model in counting]
            return
        try:
            self._connect(names, settings, record, budget)
        except RubricaError:
            if self.cache is not None:
                self.cache.close()
            raise

    def _connect(self, names: Sequence[str], settings: Settings, record: Path | None, budget: Budget | None) -> None:
        check_keys(names, settings)
        for name in names:
            model = connect(name, settings, cache=self.cache, gates=self._limits, budget=budget)
            if isinstance(model, Cached):
                self._forget[name] = model.forget
            self._models[name] = model
        self._fence = _fence_source(names, self.cache, record)
        if record is not None:
            self._models = {name: Recorder(model, record) for name, model in self._models.items()}

    def judge(self, rubric: Rubric, turn: int = 0) -> Judge:
        """A judge of one rubric: a single model asked once, or a panel.

        Judges of different turns ask differently, so that a reply to one is not taken for a reply to another.
        """
        if rubric.judging.panel > len(self._models):
            named = ", ".join(self._aliases.get(name, name) for name in self._models)
            raise RubricaError(f"{rubric.name} asks for a panel of {rubric.judging.panel} judges; named: {named}")
        repeats = self._times(rubric)
        turns = range(turn * repeats, (turn + 1) * repeats)
        warm = self._warm or repeats > 1
        judges = {
            self._aliases.get(name, name): [self._one(name, rubric, i, warm=warm) for i in turns]
            for name in self._models
        }
        learned = rubric.calibration.panels if rubric.calibration is not None else {}
        if len(judges) == 1 and repeats == 1 and not learned:
            return self._with_types(next(iter(judges.values()))[0], rubric)
        from .panel import Panel, Pooling  # here, since most runs have one judge, who needs nothing of it

        panel = Panel(judges, rubric.axis_scales, Pooling.of(rubric, self._aliases), of_criteria=rubric.criteria_scale)
        return self._with_types(panel, rubric)

    def _with_types(self, judge: Judge, rubric: Rubric) -> Judge:
        """The judge; where the rubric goes by the type of a question, its first model can be asked for that too."""
        if rubric.profiles is None or rubric.profiles.classify is None:
            return judge
        model, known = self._named(next(iter(self._models)))
        asking = ModelClassifier(model, price=known, deadline=TYPE_SECONDS, token=self._fence)
        return ClassifyingJudge(judge, asking, self._types)

    async def rank(
        self,
        question: str,
        responses: Mapping[str, str],
        rubric: Rubric | None = None,
        *,
        graded: bool = False,
        labels: Sequence[str] = LETTERS,
    ) -> Preference | Unscored:
        """How several responses to one question stand to each other, by every model and in both orders.

        Models count as the rubric's calibration weighs their choices, else alike.
        """
        check_responses(responses, labels, graded=graded)
        judges = []
        for name in self._models:
            model, known = self._named(name)
            judges.append(
                PreferenceJudge(
                    model,
                    rubric,
                    graded=graded,
                    labels=labels,
                    price=known,
                    fence_source=self._fence,
                    on_unreadable=self._forget.get(name),
                )
            )
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(judge(question, responses)) for judge in judges]
        learned = rubric.calibration.choices if rubric is not None and rubric.calibration is not None else None
        given = [vote for task in asked for vote in task.result()]
        weights = None
        if learned is not None:
            weights = {self._aliases.get(judge, judge): weight for judge, weight in learned.judges.items()}
        return pool_preferences(tuple(responses), given, weights)

    async def quote_rank(
        self, question: str, responses: Mapping[str, str], rubric: Rubric | None = None, *, graded: bool = False
    ) -> Quote:
        """What comparing some responses costs at most. Nobody is asked."""
        usages = await rank_usages(question, responses, rubric, graded=graded)
        return sum((quote_usages(name, usages, price) for name in self._models), Quote())

    def asking_terms(self, max_tokens: int) -> AskingTerms:
        """How the first model is asked something that is no judgement."""
        name = next(iter(self._models))
        model, known = self._named(name)
        return AskingTerms(model, max_tokens, price=known, on_unreadable=self._forget.get(name))

    @property
    def fence_source(self) -> TokenSource:
        """What makes the fences of its questions."""
        return self._fence

    @property
    def names(self) -> tuple[str, ...]:
        """The models that judge."""
        return tuple(self._models)

    def calls(self, rubric: Rubric, context: Context | None = None) -> int:
        """How many calls one evaluation takes at most; of a case that is given, with its criteria and its profile."""
        return calls_of(rubric, len(self._models), self._times(rubric), context) + asks_type(rubric, context)

    async def quote(self, rubric: Rubric, context: Context) -> Quote:
        """What judging a context costs at most. Nobody is asked."""
        usages = await usages_of(rubric, context)
        asked = [quote_usages(name, usages, self._price) for name in self._models]
        types = await type_usages(rubric, context)
        return sum(asked, Quote()).times(self._times(rubric)) + quote_usages(self.names[0], types, self._price)

    def _times(self, rubric: Rubric) -> int:
        return self._repeats if self._repeats is not None else rubric.judging.repeats

    def _named(self, name: str) -> tuple[Model, Price]:
        """A model and its price, under the name that others may read."""
        model, alias = self._models[name], self._aliases.get(name)
        if alias is None:
            return model, self._price
        return PublicModel(alias, model), public_price(self._price, {alias: name})

    def _one(self, name: str, rubric: Rubric, repeat: int, *, warm: bool) -> Judge:
        model, known = self._named(name)
        judge = ModelJudge(
            model,
            rubric,
            seed=self._seed,
            repeat=repeat,
            temperature=REPEAT_TEMPERATURE if warm else 0.0,
            price=known,
            fence_source=self._fence,
            on_unreadable=self._forget.get(name),
        )
        if rubric.calibration is None:
            return judge
        from .calibration import CalibratedJudge  # here, since few rubrics are calibrated

        return CalibratedJudge(judge, name, rubric.calibration)

    async def close(self) -> None:
        for model in self._models.values():
            await model.close()
        if self.cache is not None:
            self.cache.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _check_names(names: Sequence[str], record: Path | None) -> None:
    if not names:
        raise RubricaError("name at least one model to judge (--judge, or RUBRICA_JUDGE)")
    for i, name in enumerate(names):
        check_form(name)
        if name in names[:i]:
            raise RubricaError(f"{name} is named twice (to ask it several times, set repeats)")
    if record is not None and len(names) > 1:
        raise RubricaError("a recording holds the replies of one judge (record them one by one)")


def _fence_source(names: Sequence[str], cache: ReplyCache | None, record: Path | None) -> TokenSource:
    """Fences that are the same for the same text where replies are kept, so that they are found again."""
    replayed = next((name.removeprefix("replay:") for name in names if name.startswith("replay:")), None)
    if replayed is not None:
        place = _key_place(Path(replayed))
        return keyed_token(place.read_bytes()) if place.is_file() else process_token
    if record is not None:
        return keyed_token(_key_beside(record))
    return process_token if cache is None else stored_token(cache.path)


def stored_token(path: Path) -> TokenSource:
    """Fences that are the same for the same text, by the key beside a file of replies."""
    return keyed_token(_key_beside(path))


def _key_place(path: Path) -> Path:
    return path.with_name(path.name + ".key")


def _key_beside(path: Path) -> bytes:
    """The secret key of a file of replies, made when it is first wanted."""
    place = _key_place(path)
    try:
        descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return place.read_bytes()
    except OSError as error:
        raise RubricaError(f"{place}: cannot be written: {error.strerror}") from None
    key = secrets.token_bytes(32)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
    return key
