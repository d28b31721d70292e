"""Questions and models for tests of the education workflow: a writer and a judge behind one loopback provider."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from loopback import Loopback, Said, Seen

from rubrica.engine.cases import Case

MARKS: Mapping[str, float] = {
    "correctness": 9.5,
    "grade_alignment": 9,
    "difficulty_alignment": 8,
    "language_quality": 9.2,
    "pedagogical_value": 7.8,
    "explanation_quality": 7.5,
    "instruction_adherence": 8.8,
    "format_compliance": 9.5,
    "query_relevance": 9,
    "general_principles": 8.2,
    "format_alignment": 8.2,
    "grade_language": 8.2,
}
"""What a well-disposed judge gives, on the scale from 0 to 10."""


def question(**changes: Any) -> dict[str, Any]:
    """A sound question about equal groups."""
    return {
        "type": "mcq",
        "difficulty": "medium",
        "question": "There are 4 equal groups of 6 apples. How many apples are there in all?",
        "options": ["A) 10", "B) 20", "C) 24", "D) 46"],
        "answer": "C",
        "explanation": "First, see that there are 4 equal groups with 6 apples in each. Next, think of 4 times 6. Then "
        "skip count to check, because equal groups can be counted on.",
        **changes,
    }


def judgement(asked: Mapping[str, Any], marks: Mapping[str, float] = MARKS, **remarks: Any) -> str:
    """A judge's reply to a request whose reply must follow the schema `asked`."""
    named = asked["properties"]["dimensions"]["properties"]
    return json.dumps(
        {
            "dimensions": {
                name: {"reason": f"{name} was looked at", "score": marks.get(name, 8), "confidence": 0.9}
                for name in named
            },
            "issues": remarks.get("issues", []),
            "strengths": remarks.get("strengths", []),
            "suggestions": remarks.get("suggestions", []),
            "sections": {
                name: f"note on {name}" for name in asked["properties"].get("sections", {}).get("properties", {})
            },
        }
    )


def schema_of(seen: Seen) -> tuple[str, Mapping[str, Any]]:
    """What kind of reply is asked for, and its schema."""
    wanted = seen.body["response_format"]["json_schema"]
    return wanted["name"], wanted["schema"]


def teacher(
    write: Callable[[Seen], str] | None = None, marks: Mapping[str, float] = MARKS, **remarks: Any
) -> Callable[[Seen], Said]:
    """A script: writes a sound question, or what `write` says, and judges kindly."""

    def answer(seen: Seen) -> Said:
        name, schema = schema_of(seen)
        if name == "judgement":
            return Said(judgement(schema, marks, **remarks))
        return Said(write(seen) if write is not None else json.dumps({"questions": [question()]}))

    return answer


def calls(server: Loopback, kind: str) -> int:
    """How often the provider was asked for a `judgement` or for `questions`."""
    return sum(schema_of(seen)[0] == kind for seen in server.seen)


@contextmanager
def provider(script: Any, key: str | None = None, **options: Any) -> Iterator[Loopback]:
    """A loopback provider on a loop of its own, for code that is not asynchronous or runs elsewhere."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = Loopback(script, key=key, **options)
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(30)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def model_name(server: Loopback) -> str:
    return f"{server.openai_url}#teacher"


def expected_verdict(case: Case) -> str:
    """The verdict of a bundled example where the sentence model is installed; without it others may be named, too."""
    wanted: str | list[str] = (case.expect or {})["verdict"]
    return wanted if isinstance(wanted, str) else wanted[0]
