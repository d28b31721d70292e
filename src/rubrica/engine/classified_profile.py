"""The profile of a context that names none: found from its prompt, by a judge where that is unclear."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from rubrica.model.context import Context
from rubrica.model.decisions import Profiles
from rubrica.model.evaluation import ProfileChoice
from rubrica.model.judge import QuestionClass
from rubrica.scoring.decision_plan import ProfilePlan
from rubrica.text.question_type import classify_question, question_before

PLAUSIBLE = 0.9
"""The types of a question are tried in turn until their chances add up to this."""


class TypeAnswer(msgspec.Struct, frozen=True):
    """What a judge said of the type of a question, here or when the evaluation was stored."""

    judged_type: QuestionClass | None = None  # None: nothing was asked
    stored: ProfileChoice | None = None  # of an evaluation that is judged again, where a judge had been asked

    def chances(self, offline: Mapping[str, float]) -> Mapping[str, float]:
        """How likely each type is once the judge has spoken: what it said, as surely as it said so, else as offline."""
        if self.stored is not None:
            return self.stored.plausible
        if self.judged_type is None or self.judged_type.source == "fallback":
            return offline
        sure = self.judged_type.confidence
        both = {kind: (1 - sure) * chance for kind, chance in offline.items()}
        both[self.judged_type.type] = both.get(self.judged_type.type, 0.0) + sure
        return dict(sorted(both.items(), key=lambda pair: -pair[1]))

    @property
    def by_judge(self) -> bool:
        return self.stored is not None or (self.judged_type is not None and self.judged_type.source != "fallback")

    @property
    def words(self) -> str:
        """How the type was found, and what went wrong where the judge gave none."""
        failed = (
            f"; {self.judged_type.reason}"
            if self.judged_type is not None and self.judged_type.source == "fallback"
            else ""
        )
        return f"classified {'by the judge' if self.by_judge else 'offline'}{failed}"


UNASKED = TypeAnswer()


def is_blank(wanted: object) -> bool:
    """Whether a context asks for no profile: it has no such value, or an empty cell of a table."""
    return wanted is None or (isinstance(wanted, str) and not wanted.strip())


def classified_terms(
    profiles: Profiles, terms: Mapping[str | None, ProfilePlan], context: Context, answer: TypeAnswer = UNASKED
) -> ProfilePlan | None:
    """The terms under the likeliest profile, with the others that are plausible; None where nothing can be told."""
    earlier = question_before(context.prompt, context.asked)
    found = classify_question(f"{earlier}\n{context.prompt}" if earlier else context.prompt)
    if found is None:
        return None
    plausible: dict[str, float] = {}
    reached = 0.0
    for kind, chance in answer.chances(found.chances).items():
        name = kind if kind in terms else profiles.default
        if name is not None:
            plausible[name] = plausible.get(name, 0.0) + chance
        reached += chance
        if reached >= PLAUSIBLE:
            break
    if not plausible:
        return None
    (first, confidence), *rest = sorted(plausible.items(), key=lambda pair: -pair[1])
    note = f"{profiles.by}: {first} ({answer.words}, confidence {confidence:.2f})"
    if rest:
        note += "".join(f", or {name} ({chance:.2f})" for name, chance in rest)
    wanted = context.lookup(profiles.by)
    if not is_blank(wanted):
        note = f"{profiles.by} {wanted!r} is none of {', '.join(profiles.named)}; {note}"
    choice = ProfileChoice(
        "judge" if answer.by_judge else "offline",
        confidence,
        {first: confidence, **dict(rest)},
        answer.judged_type.cost if answer.judged_type is not None else None,
    )
    return replace(terms[first], note=note, classified=choice, others=tuple(terms[name] for name, _ in rest))
