"""A rubric as a test: `pytest examples/ci`. Put your own assistant in the place of the file of replies."""

import json
from pathlib import Path

import pytest

import rubrica

HERE = Path(__file__).parent
CASES = [json.loads(line) for line in (HERE / "cases.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_reply_is_fit_to_be_sent(case: dict[str, str]) -> None:
    rubrica.assert_passes(HERE / "support-reply.yaml", prompt=case["prompt"], response=case["response"])


def test_a_reply_that_sends_the_customer_away_is_held() -> None:
    with pytest.raises(AssertionError, match="hold"):
        rubrica.assert_passes(HERE / "support-reply.yaml", prompt="It is broken.", response="We cannot help with that.")
