"""A stored session in the hands of people: its trail for an audit, and the whole of it as Markdown.

Both are made of plain data, the events and the result as they were kept. So they tell the same of a session of an
earlier version, and of one that was cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Plain = Mapping[str, Any]
_STAGES = {"answered": "answers", "reviewed": "reviews", "cancelled": "reviews"}


@dataclass(frozen=True, slots=True)
class SessionTranscript:
    """What is kept of a session."""

    about: Plain  # its id, state, owner and times, ready for JSON
    request: Plain
    events: Sequence[Plain]  # the data of each, in their order, with its time under "at"
    result: Plain | None

    @property
    def answers(self) -> dict[str, Plain]:
        """The members' answers by response; by model where the session did not come as far as its labels."""
        if self.result is not None:
            answers: dict[str, Plain] = self.result["answers"]
            return answers
        return {event["model"]: _kept(event) for event in self.events if event.get("event") == "answered"}

    @property
    def reviews(self) -> list[Plain]:
        """What every reviewer said, by answer; of a session without a result, what had arrived."""
        if self.result is not None:
            found: list[Plain] = self.result["reviews"]
            return found
        latest = {event["model"]: event for event in self.events if event.get("event") == "reviewed"}  # after a debate
        return [{"reviewer": name, **given} for name, event in latest.items() for given in event.get("given", ())]

    @property
    def problem(self) -> Plain | None:
        """Why there is no result; None where there is one, or where it may still come."""
        last = self.events[-1] if self.events else {}
        return None if "event" in last or not last else {name: told for name, told in last.items() if name != "at"}


def scores_text(review: Plain) -> str:
    """The scores of a review that had arrived, in a line.

    >>> scores_text({"scores": {"accuracy": 9.0}, "overall": None, "place": 2})
    'accuracy 9, place 2'
    """
    scores = {**review["scores"], "overall": review["overall"], "place": review["place"]}
    return ", ".join(f"{name} {value:g}" for name, value in scores.items() if value is not None)


def exported(transcript: SessionTranscript) -> dict[str, Any]:
    """The session as one JSON object: its result, as ``rubrica council ask --save`` writes one, and the session."""
    plain = dict(transcript.result) if transcript.result is not None else {"question": transcript.request["question"]}
    if transcript.result is None:
        plain |= {"answers": transcript.answers, "reviews": transcript.reviews}
    session = {**transcript.about, "request": dict(transcript.request), "problem": transcript.problem}
    return {**plain, "session": session, "events": [dict(event) for event in transcript.events]}


def trail(transcript: SessionTranscript) -> dict[str, Any]:
    """Who was asked what, in which order and at what cost, and who hides behind which label."""
    terms: Plain = (transcript.result or {}).get("metadata", {})
    return {
        **transcript.about,
        "question": transcript.request["question"],
        "request": dict(transcript.request),
        "calls": _calls(transcript.events),
        "labels": dict(terms.get("labels") or _labels(transcript.events)),
        "orders": _orders((transcript.result or {}).get("reviews", ())),
        "self_reviews": None if not terms else not terms.get("exclude_self"),
        **{name: terms.get(name) for name in ("seed", "rubric", "rubric_hash", "chair", "fallback", "stages", "cost")},
        "problem": transcript.problem,
    }


def _calls(events: Sequence[Plain]) -> list[dict[str, Any]]:
    """Every model that was asked in every stage, in the order in which they were done; at the end who never was."""
    waiting: dict[tuple[str, str], Plain] = {}
    calls: list[dict[str, Any]] = []
    for event in events:
        match event.get("event"):
            case "stage_started":
                waiting |= {(event["stage"], model): event for model in event["models"]}
            case "answered" | "reviewed" | "cancelled" | "dropped" as name:
                stage = str(event["stage"]) if name == "dropped" else _STAGES[name]
                begun = waiting.pop((stage, event["model"]), None)
                calls.append(_call(stage, event, begun))
            case "stage_finished" if event["stage"] == "final":
                for stage, model in [key for key in waiting if key[0] == "final"]:
                    calls.append(
                        _call(
                            stage, {"event": "concluded", "model": model, **_timing(event)}, waiting.pop((stage, model))
                        )
                    )
    calls += [_call(stage, {"event": "open", "model": model}, begun) for (stage, model), begun in waiting.items()]
    return calls


def _call(stage: str, event: Plain, begun: Plain | None) -> dict[str, Any]:
    told = {name: event[name] for name in ("seconds", "words", "scored", "answers", "cost", "reason") if name in event}
    return {
        "stage": stage,
        "model": event["model"],
        "outcome": event["event"],
        "asked_at": None if begun is None else begun.get("at"),
        "done_at": event.get("at"),
        **told,
    }


def _timing(event: Plain) -> dict[str, Any]:
    return {name: event[name] for name in ("seconds", "cost", "at") if name in event}


def _labels(events: Sequence[Plain]) -> dict[str, str]:
    ranked = next((event for event in events if event.get("event") == "ranked"), {})
    return {f"Response {label}": model for label, model in ranked.get("labels", {}).items()}


def _orders(reviews: Sequence[Plain]) -> dict[str, list[str]]:
    """Which answers each reviewer saw, from the first to the last."""
    orders: dict[str, list[tuple[int, str]]] = {}
    for review in reviews:
        orders.setdefault(review["reviewer"], []).append((review["position"], review["response"]))
    return {reviewer: [response for _, response in sorted(seen)] for reviewer, seen in orders.items()}


def _kept(answer: Plain) -> dict[str, Any]:
    return {name: answer.get(name) for name in ("model", "text", "words", "seconds", "cost", "cut")}


# --- Markdown -------------------------------------------------------------------------------------------------


def markdown(transcript: SessionTranscript) -> str:
    """The session as a document. Texts of models and people are quoted, so that nothing in them becomes part of it."""
    result, about = transcript.result, transcript.about
    parts = ["# Council", f"Asked {about['created_at']}, {about['state']}. Session `{about['id']}`."]
    parts += ["## Question", _quoted(transcript.request["question"])]
    if result is not None:
        terms = result["metadata"]
        by = f", by {_inline(result['final']['author'])}" if result["final"].get("author") else ""
        parts += [f"## Final answer{by}", _quoted(result["answer"])]
        parts += [_inline(f"Incomplete: {o['stage']}: {o['what']}: {o['why']}") for o in result.get("missing", ())]
        parts += [f"_{_inline(note)}_" for note in [terms.get("fallback")] if note]
        parts += ["## Ranking", _ranking(result)] if result["answers"] else []
    elif (problem := transcript.problem) is not None:
        parts += ["## No result", _inline(problem.get("detail", ""))]
    for name, answer in transcript.answers.items():
        parts += [
            f"## {_inline(name)}",
            f"{_inline(answer['model'])}, {answer['words']} words",
            _quoted(answer["text"]),
        ]
        notes = ((result or {}).get("evaluations", {}).get(name) or {}).get("notes", "")
        parts += ["Reviewers noted:", _quoted(notes)] if notes else []
    if result is None and transcript.reviews:
        parts += ["## Reviews", "\n".join(map(_review_line, transcript.reviews))]
    dropped = [event for event in transcript.events if event.get("event") == "dropped"]
    if dropped:
        parts += [
            "## Dropped",
            "\n".join(f"- {_inline(o['model'])}, {o['stage']}: {_inline(o['reason'])}" for o in dropped),
        ]
    usd = about.get("usd")
    parts += [f"Cost: {'not known' if usd is None else f'${usd:.4f}'}."]
    return "\n\n".join(parts) + "\n"


def _ranking(result: Plain) -> str:
    labels, out_of = result["metadata"]["labels"], result["metadata"]["out_of"]
    rows = ["| place | answer | model | score |", "|---|---|---|---|"]
    for name in [*result["ranking"], *result.get("unranked", ())]:
        found = result["evaluations"][name]
        place = "—" if found["rank"] is None else found["rank"]
        score = "—" if found["overall"] is None else f"{found['overall']:g} of {out_of:g}"
        rows.append(f"| {place} | {_inline(name)} | {_inline(labels[name])} | {score} |")
    return "\n".join(rows)


def _review_line(review: Plain) -> str:
    notes = f". {_inline(review['notes'])}" if review["notes"] else ""
    return f"- {_inline(review['reviewer'])} on {_inline(review['model'])}: {_inline(scores_text(review))}{notes}"


def _quoted(text: str) -> str:
    """A text of others, every line of it quoted and shown as it is.

    >>> print(_quoted("One\\n# Two"))
    >     One
    >     # Two
    """
    return "\n".join(f">     {line}".rstrip() for line in text.splitlines() or [""])


def _inline(text: object) -> str:
    """A short text of others inside a line: nothing in it is markup.

    >>> _inline("a|b *c*\\n# d")
    'a\\\\|b \\\\*c\\\\* \\\\# d'
    """
    line = " ".join(str(text).split())
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+!|~" else sign for sign in line)
