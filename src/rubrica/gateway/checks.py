"""Looks settings through before anything is connected, and tells everything that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Iterator

from rubrica.errors import RubricaError
from rubrica.llm.budget import Price
from rubrica.llm.connect import check_keys
from rubrica.llm.settings import Settings
from rubrica.model.rubric import Rubric

from .deployment_settings import DeploymentSettings, TierModels, deployed_settings
from .prices import why_unpriced
from .settings import GatewaySettings


def check_settings(settings: GatewaySettings, models: Settings, prices: Price, rubric: Rubric) -> None:
    """Refuse settings that cannot work, with every reason."""
    found = list(_problems(settings, models, prices, rubric))
    if found:
        raise RubricaError("\n".join(found))


def _problems(settings: GatewaySettings, models: Settings, prices: Price, rubric: Rubric) -> Iterator[str]:
    for tier in (settings.tier0, *settings.middle, settings.tier1):
        for one in tier if isinstance(tier, tuple) else ():
            try:
                deployed_settings(one, models)
            except RubricaError as error:
                yield str(error)
    if settings.hedge.tier0 is not None and settings.tier1 is None and not _has_several(settings.tier0):
        yield "hedge.tier0: there is nobody else to ask (name a tier1, or give tier0 several deployments)"
    if settings.hedge.tier1 is not None and not _has_several(settings.tier1):
        yield "hedge.tier1: there is nobody else to ask (give tier1 several deployments)"
    try:
        check_keys(_with_shared_keys(settings), models)
    except RubricaError as error:
        yield str(error)
    known = tuple(rubric.profiles.named) if rubric.profiles is not None else ()
    for name in settings.grading.graders:
        if name not in known:
            told = f"there are {', '.join(known)}" if known else f"{rubric.name} has no question types"
            yield f"grading.graders: {name!r} is no question type ({told})"
    if settings.grading.graders and not settings.grader:
        yield "grading.graders: nobody grades the other question types (set `grader`, too)"
    why = why_unpriced([*settings.models, *settings.council.models], prices)
    if why and settings.limits_spending and settings.budget.unpriced == "refuse":
        yield why


def _with_shared_keys(settings: GatewaySettings) -> list[str]:
    """The models that are asked with the key of their provider."""
    every = (settings.tier0, *settings.middle, settings.tier1)
    tiers = [one for tier in every if isinstance(tier, tuple) for one in tier]
    apart = {one.model for one in tiers if _has_own_key(one)} - {one.model for one in tiers if not _has_own_key(one)}
    return [name for name in settings.models if name not in apart]


def _has_several(tier: TierModels | None) -> bool:
    return isinstance(tier, tuple) and len(tier) > 1


def _has_own_key(one: DeploymentSettings) -> bool:
    return one.key_env is not None
