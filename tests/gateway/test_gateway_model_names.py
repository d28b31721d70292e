"""What a request may ask for in `model`: the gateway's own choice, a tier, a model, an alias."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted, stage

from rubrica.errors import RubricError
from rubrica.gateway.settings import settings_from_text

MINI, BIG, OTHER = "openai:gpt-4o-mini", "openai:gpt-4o", "openai:gpt-4.1"
BETTER = "Paris has been the capital of France for most of its history."
ALIASES = {"gpt-4": "auto", "fast": "tier-0", "best": BIG}


def asked(model: str) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": CAPITAL}]}


@pytest.mark.parametrize(
    ("model", "tier", "graded"),
    [
        ("auto", "tier-1", True),
        ("gpt-4", "tier-1", True),
        ("never-heard-of", "tier-1", True),
        ("tier-0", "tier-0", False),
        ("fast", "tier-0", False),
        (MINI, "tier-0", False),
        ("tier-1", "tier-1", False),
        (BIG, "tier-1", False),
        ("best", "tier-1", False),
    ],
)
def test_a_name_chooses_who_answers(tmp_path: Path, model: str, tier: str, graded: bool) -> None:
    first, second = Scripted(MINI, POOR), Scripted(BIG, BETTER)
    with stage(tmp_path, first, second, aliases=ALIASES) as on:
        reply = on.ask(asked(model))
        assert (reply.headers["x-sleipner-tier"], "x-sleipner-score" in reply.headers) == (tier, graded)
        assert len(first.asked) == (1 if graded or tier == "tier-0" else 0)
        assert on.record(reply).chosen == ("" if graded else f"force={tier}")


def test_a_header_is_stronger_than_the_model(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, GOOD), Scripted(BIG, BETTER)) as on:
        assert on.ask(asked("tier-0"), x_sleipner_force="tier-1").headers["x-sleipner-tier"] == "tier-1"


def test_a_key_asks_for_what_it_may_choose_and_no_more(tmp_path: Path) -> None:
    models = (
        Scripted(MINI, GOOD),
        Scripted(BIG, BETTER),
        Scripted(OTHER, "Paris, of course, is the capital of France."),
    )
    allowance = {"controls": ["tiers", "force"], "models": [OTHER]}
    with stage(tmp_path, *models, allowance=allowance, aliases={"new": OTHER}) as on, on.client() as client:
        assert OTHER in [model.id for model in client.models.list()]
        assert client.models.retrieve("new").id == "new"
        assert on.ask(asked("new")).headers["x-sleipner-model"] == OTHER
        assert on.ask(asked(OTHER)).headers["x-sleipner-model"] == OTHER
    with stage(tmp_path, *models, allowance={"controls": ["debug"]}) as on, on.client() as client:
        assert [model.id for model in client.models.list()] == ["auto", "rubrica"]
        assert on.ask(asked("auto")).status == 200
        assert on.ask(asked(OTHER)).headers["x-sleipner-model"] == MINI  # a name like any other
        with pytest.raises(openai.PermissionDeniedError, match="may not choose"):
            client.chat.completions.create(model="tier-1", messages=[{"role": "user", "content": CAPITAL}])


def test_an_alias_for_nothing_is_refused_at_the_start() -> None:
    with pytest.raises(RubricError, match="quick: tier-9") as refused:
        settings_from_text("aliases:\n  quick: tier-9\n  ok: auto\n", "gateway.yaml")
    assert "ok:" not in str(refused.value)
