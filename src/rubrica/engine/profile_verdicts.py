"""Where the profile is not certain: the verdict under each that is plausible. It stands where all come to the same."""

from __future__ import annotations

from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.scoring.weigh import Weighing, weigh

from .state import EvaluationState, formula_values


def verdicts_by_profile(state: EvaluationState) -> dict[str, str]:
    """The verdict under each plausible profile, inconclusive where it is open; empty where the profile is certain."""
    return {name: found.decided or INCONCLUSIVE for name, found in _weighings(state).items()}


def across_profiles(state: EvaluationState, verdict: str, reason: str) -> tuple[str, str, tuple[float, float]]:
    """Verdict, reason and bounds of the score over all plausible profiles, from those under the likeliest one."""
    found = _weighings(state)
    bounds = (min(each.bounds[0] for each in found.values()), max(each.bounds[1] for each in found.values()))
    verdicts = {name: each.decided or INCONCLUSIVE for name, each in found.items()}
    if verdict == INCONCLUSIVE or set(verdicts.values()) <= {verdict}:
        return verdict, reason, bounds
    verdicts_text = ", ".join(f"{each} as {name}" for name, each in verdicts.items())
    profiles = state.plan.profiles
    by = profiles.by if profiles is not None else "profile"
    return INCONCLUSIVE, f"the verdict hangs on the {by}, which is not certain: {verdicts_text}", bounds


def _weighings(state: EvaluationState) -> dict[str, Weighing]:
    terms, decision = state.terms, state.plan.decision
    if not terms.others:
        return {}
    names, unknown = formula_values(state)
    found = {}
    for each in (terms, *terms.others):
        names.update(each.constants)
        found[each.profile or ""] = weigh(decision, each, names, unknown)
    names.update(terms.constants)
    return found
