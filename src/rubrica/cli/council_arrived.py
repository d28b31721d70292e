"""What had arrived of a council that was stopped with Ctrl+C: it is paid for."""

from __future__ import annotations

from collections.abc import Sequence

from rubrica.council.events import Event, FinalWriting
from rubrica.council.transcript import SessionTranscript, scores_text
from rubrica.report.figures import count_of

from .council_tables import answer_block
from .screen import echo_json, out


def show_arrived(question: str, events: Sequence[Event], *, as_json: bool, what: str = "answer") -> str:
    """Print the answers (or votes), the reviews and what the chair had written; returns how much of it there is."""
    session = SessionTranscript({}, {"question": question}, [event.to_dict() for event in events], None)
    written = written_so_far(events)
    if as_json:
        answers = [{"model": one["model"], "text": one["text"]} for one in session.answers.values()]
        told = {"reviews": session.reviews, "written": written} if what == "answer" else {}
        echo_json({"complete": False, "question": question, f"{what}s": answers, **told})
    else:
        for one in session.answers.values():
            out().print(answer_block(f"{what.capitalize()} of {one['model']}", one["text"]))
        for review in session.reviews:
            said = f"{scores_text(review)}. {review['notes']}"
            out().print(answer_block(f"Review by {review['reviewer']} of {review['model']}", said))
        if written:
            out().print(answer_block("Final answer, as far as it was written", written))
    counts = ((len(session.answers), what), (len({one["reviewer"] for one in session.reviews}), "review"))
    arrived = [count_of(number, noun) for number, noun in counts if number]
    return f"{' and '.join(arrived) or 'nothing'} had arrived"


def written_so_far(events: Sequence[Event]) -> str:
    """What the chair had written.

    >>> written_so_far([FinalWriting("It w"), FinalWriting("In ", anew=True), FinalWriting("1889.")])
    'In 1889.'
    """
    text = ""
    for event in events:
        if isinstance(event, FinalWriting):
            text = event.text if event.anew else text + event.text
    return text
