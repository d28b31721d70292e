"""A draft on a server: a private rubric of its own, so that nothing uses it until somebody does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rubrica.authoring.draft import DraftedRubric
from rubrica.authoring.draft_effect import ExampleEffect

from .remote import remote

LONGEST_NOTE = 2_000
MOST_EXAMPLES = 500
SUFFIX = "-draft"


class _Stored(msgspec.Struct, frozen=True):
    slug: str
    version: str


def store_draft(url: str, drafted: DraftedRubric, effects: Sequence[ExampleEffect], model: str) -> str:
    """Keep a draft under NAME-draft, with its examples and what it made of them; its name and version there."""
    name = f"{drafted.rubric.name}{SUFFIX}"
    sent = {
        **drafted.document,
        "name": name,
        "version": "1.0.0",
        "is_public": False,
        "examples": [_case(effect) for effect in effects[:MOST_EXAMPLES]],
        "note": _note(drafted, model)[:LONGEST_NOTE],
    }
    with remote(url) as (there, runner):
        stored = runner.run(there.post("/api/evaluations", sent)).read(_Stored)
    return f"{stored.slug}@{stored.version}"


def _case(effect: ExampleEffect) -> dict[str, Any]:
    """An example as a case, with what people said of it and what the draft gave it, and the base before."""
    example = effect.example
    after, before = effect.after, effect.before
    told = {"people": example.side, "drafted_score": after.score, "drafted_verdict": after.verdict}
    if before is not None:
        told |= {"earlier_score": before.score, "earlier_verdict": before.verdict}
    return {"id": f"{example.id} {example.side}", **example.context.as_given(), "drafting": told}


def _note(drafted: DraftedRubric, model: str) -> str:
    reasons = [f"{name}: {' '.join(reason.split())}" for name, reason in drafted.because.items() if reason]
    return "\n".join([f"Drafted by {model} for {drafted.rubric.reference}: to be read by people.", *reasons])
