"""The profile of a context that names none: found from its prompt, with what else it may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rubrica.model.context import Context
from rubrica.model.decisions import Profiles
from rubrica.model.evaluation import ProfileChoice
from rubrica.scoring.decision_plan import ProfilePlan
from rubrica.text.question_type import classify_question, whole_question

PLAUSIBLE = 0.9
"""The types of a question are tried in turn until their chances add up to this."""


def classified_terms(
    profiles: Profiles, terms: Mapping[str | None, ProfilePlan], context: Context
) -> ProfilePlan | None:
    """The terms under the likeliest profile, with the others that are plausible; None where nothing can be told."""
    found = classify_question(whole_question(context.prompt, context.asked))
    if found is None:
        return None
    plausible: dict[str, float] = {}
    reached = 0.0
    for kind, chance in found.chances.items():
        name = kind if kind in terms else profiles.default
        if name is not None:
            plausible[name] = plausible.get(name, 0.0) + chance
        reached += chance
        if reached >= PLAUSIBLE:
            break
    if not plausible:
        return None
    (first, confidence), *rest = sorted(plausible.items(), key=lambda pair: -pair[1])
    note = f"{profiles.by}: {first} (classified offline, {confidence:.2f})"
    if rest:
        note += "".join(f", or {name} ({chance:.2f})" for name, chance in rest)
    wanted = context.lookup(profiles.by)
    if wanted is not None:
        note = f"{profiles.by} {wanted!r} is unknown; {note}"
    choice = ProfileChoice("offline", confidence, {first: confidence, **dict(rest)})
    return replace(terms[first], note=note, classified=choice, others=tuple(terms[name] for name, _ in rest))
