"""A studio with believable content, for pictures: rubrics, runs, reviews, ratings, a game, a gateway and a council."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

from rubrica.store.columns import new_id
from rubrica.store.database import Database
from rubrica.store.gateway import GradedDimension, RequestRecord, add_requests
from rubrica.workspace.access import Role

PEOPLE: dict[str, Role] = {"maya": "admin", "ann": "author", "bob": "author", "pia": "player", "noor": "player"}
QUESTION = "Why does the sea look blue, although a glass of it is clear?"

SUPPORT = {
    "name": "support-reply",
    "title": "Support reply",
    "description": "Is a reply to a customer clear, kind and short, and does it say what happens next?",
    "category": "support",
    "tags": ["support", "tone"],
    "scale": {"min": 0, "max": 10},
    "score": {"weighted": True, "out_of": 100},
    "threshold": 60,
    "dimensions": {
        "next_step": {
            "title": "Next step",
            "weight": 0.4,
            "formula": "9 if sentence_count >= 2 else 4",
            "anchors": {
                "0-3": "Nothing is said about what happens next.",
                "4-6": "A next step is named, not when it comes.",
                "7-10": "Who does what by when is clear.",
            },
        },
        "brevity": {
            "title": "Brevity",
            "weight": 0.3,
            "formula": "10 if word_count < 60 else 5 if word_count < 120 else 2",
            "anchors": {"0-3": "Long-winded.", "4-7": "Could be shorter.", "8-10": "No word too many."},
        },
        "warmth": {
            "title": "Warmth",
            "weight": 0.3,
            "formula": "min(10, 5 + exclamation_count)",
            "anchors": {"0-4": "Cold.", "5-7": "Polite.", "8-10": "Warm, and about this person."},
        },
    },
    "gates": [{"name": "empty", "when": "word_count < 4", "cap": 20}],
    "verdicts": [
        {"label": "send", "when": "score >= threshold"},
        {"label": "revise", "when": "score >= 40"},
        {"label": "redo"},
    ],
}
CHANGES: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("Short replies do better: brevity is stricter", {"threshold": 65}),
    ("Say what it is not for", {"description": "Clear, kind, short, and with a next step. Not for refunds."}),
)
ROUNDS = {
    "pia": ["In 1974 my doctor had a moth. The moth had a doctor too.", "A bee said: never trust a bee.", "Short."],
    "noor": ["A long story about a lamp that was no lamp, and about the moth that knew.", "The end, said the moth."],
    "ann": ["A moth walks into a podiatrist's office.", "Because the light was on."],
}
RATINGS: Mapping[str, Sequence[tuple[str, int, str | None]]] = {
    "answer-quality": [("pia", 5, "Tells me why, not only how much."), ("bob", 4, "Strict ceilings, and right.")],
    "speed-demon": [("noor", 4, "Fun, and over quickly."), ("pia", 5, None)],
    "council-review": [("ann", 5, "Our panel uses it every week."), ("bob", 4, None), ("pia", 4, "Clear anchors.")],
    "voice-companion": [("bob", 3, "Good for short turns; long ones need their own rubric.")],
}
ANSWERS = {
    "ada": (
        "Water absorbs red light slightly more than blue. A glass is too thin for that to show; metres of sea are "
        "not. What comes back from below is therefore blue, and a bright sky adds its own reflection."
    ),
    "bo": "The sea is blue because it reflects the blue sky. On a cloudy day it looks grey, which proves it.",
    "cy": (
        "Pure water takes away the red end of sunlight over a few metres, so blue is what is left. Algae and sand "
        "shift it to green or brown."
    ),
}
WORTH = {
    "ada": ((9, 9, 9, 8, 9), ("Gets the cause right and says why a glass is clear.", "Right and complete.")),
    "bo": ((4, 7, 4, 9, 8), ("Names the reflection alone; an indoor pool is blue too.", "A common belief, and wrong.")),
    "cy": ((9, 8, 7, 9, 8), ("Right, but leaves the glass unexplained.", "Short and correct; the glass is missing.")),
}
"""What an answer is given in each dimension, and what its two reviewers say of it."""
FINAL = (
    "Water absorbs the red end of sunlight a little more strongly than the blue. In a glass the path is too short for "
    "that to show. Over metres of sea it adds up: what is scattered back to you has lost its red and looks blue. The "
    "sky's reflection adds to it on a calm bright day, and algae or sand turn it green or brown."
)
SCORES = ("accuracy", "relevance", "completeness", "conciseness", "clarity")
TYPES = {"FACTUAL": 82.0, "TECHNICAL": 80.0, "CREATIVE": 70.0, "ANALYTICAL": 76.0}
DIMENSIONS = ("accuracy", "completeness", "clarity", "depth", "safety")


@dataclass(slots=True)
class Scene:
    """A running studio and what was put into it."""

    url: str
    database: Path
    runs: Path
    keys: dict[str, str]
    places: dict[str, str] = field(default_factory=dict)  # ids that pages are opened with

    def send(self, method: str, path: str, body: Any, who: str = "ann") -> Any:
        """Ask the service, as a person."""
        request = urllib.request.Request(  # noqa: S310 - our own server
            f"{self.url}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.keys[who]}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
                return json.loads(reply.read() or b"null")
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode()[:600]}") from None


def fill(scene: Scene) -> None:
    """Put everything into an empty studio."""
    _rubrics(scene)
    _ratings(scene)
    _game(scene)
    _runs(scene)
    _gateway(scene)


def scripts(folder: Path) -> list[str]:
    """Models for a council that answer from files; their names."""
    names = []
    for number, (name, answer) in enumerate(ANSWERS.items()):
        others = {other: text for other, text in ANSWERS.items() if other != name}
        lines = [*_reviews(others, number), {"match": "rank 1", "reply": FINAL}, {"pattern": "^Why", "reply": answer}]
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        names.append(f"scripted:{path}")
    return names


def _reviews(others: Mapping[str, str], number: int) -> Iterator[dict[str, Any]]:
    """What a member says of the others' answers, whichever letters they stand under and in whichever order."""
    for letters in permutations("ABC", 2):
        labelled = dict(zip(letters, others, strict=True))
        heads = [f"response {letter}\n{others[name][:20]}" for letter, name in labelled.items()]
        rows = {letter: _row(name, number) for letter, name in labelled.items()}
        both = "|".join(".*".join(map(_plain, order)) for order in (heads, heads[::-1]))
        yield {"pattern": f"(?s){both}", "reply": {"evaluations": rows}}


def _row(name: str, number: int) -> dict[str, Any]:
    """The `number`th member's opinion; the later it comes, the harder it is to please."""
    scores, notes = WORTH[name]
    given = {dimension: max(score - number // 2, 1) for dimension, score in zip(SCORES, scores, strict=True)}
    return {**given, "notes": notes[number // 2], "confidence": 0.9}


def _plain(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in " \n" else f"\\{letter}" for letter in text)


def _rubrics(scene: Scene) -> None:
    made = scene.send("POST", "/api/evaluations", SUPPORT)
    scene.places["own"] = made["id"]
    for note, change in CHANGES:
        shown = scene.send("GET", f"/api/evaluations/{made['id']}", None)
        shown |= {**change, "note": note}
        scene.send("PUT", f"/api/evaluations/{made['id']}", shown)  # its revision is in it


def _ratings(scene: Scene) -> None:
    for slug, given in RATINGS.items():
        for who, rating, review in given:
            scene.send("POST", f"/api/marketplace/{slug}/rate", {"rating": rating, "review": review}, who)
    for who in ("ann", "bob"):
        scene.send("POST", "/api/marketplace/council-review/import", {}, who)
    scene.send("PUT", "/api/marketplace/council-review/featured", {"featured": True}, "maya")


def _game(scene: Scene) -> None:
    game = scene.send("POST", "/api/games", {"name": "Moth night", "config": {"rounds": 3}, "is_public": True})["id"]
    attached = [
        {"evaluation_id": "norm-macdonald-classic", "weight": 0.6, "dimension": "style"},
        {"evaluation_id": "speed-demon", "weight": 0.4, "dimension": "speed"},
    ]
    scene.send("PUT", f"/api/games/{game}/evaluations", {"evaluations": attached})
    for who, texts in ROUNDS.items():
        rounds = [
            {"prompt": "Go on.", "response": text, "metadata": {"response_time": 4 + 3 * place}}
            for place, text in enumerate(texts)
        ]
        scene.send("POST", f"/api/games/{game}/evaluate", {"player": who, "rounds": rounds})
    listed = scene.send("GET", f"/api/games/{game}/rounds", None)["items"]
    first = next(one for one in listed if one["player"] == "pia" and one["round_number"] == 1)
    scene.places |= {"game": game, "player": first["player_id"]}


def _runs(scene: Scene) -> None:
    """Runs of the bundled examples, one of them before the questions were explained; baselines; a sample to review."""
    packs = Path(__file__).parent.parent / "src" / "rubrica" / "packs"
    questions = packs / "education-question" / "examples.jsonl"
    monday = scene.database.parent / "monday.jsonl"
    monday.write_text("".join(f"{_unexplained(line)}\n" for line in questions.read_text("utf-8").splitlines()), "utf-8")
    runs = {
        "questions-monday": ("education-question", monday),
        "questions-friday": ("education-question", questions),
        "answers-week-46": ("answer-quality", packs / "answer-quality" / "examples.jsonl"),
        "companion-pilot": ("voice-companion", packs / "voice-companion" / "examples.jsonl"),
    }
    for name, (rubric, cases) in runs.items():
        _command(scene, "run", str(cases), "-r", rubric, "-o", str(scene.runs / name))
    for name in ("questions-monday", "questions-friday"):
        _command(
            scene, "baseline", "add", str(scene.runs / name), "--file", str(scene.runs / ".rubrica/baselines.json")
        )
    sample = ["--share", "0.5", "-o", str(scene.database.parent / "review.csv"), "--db", str(scene.database)]
    sample += ["--reviewers", "everyone"]
    _command(scene, "review", "sample", str(scene.runs / "answers-week-46"), *sample)


def _unexplained(line: str) -> str:
    """A case whose question has a single sentence of explanation left."""
    case = json.loads(line)
    try:
        question = json.loads(case["response"])
        question["explanation"] = question["explanation"].partition(". ")[0] + "."
    except (ValueError, TypeError, KeyError, AttributeError):
        return line
    return json.dumps({**case, "response": json.dumps(question)})


def _command(scene: Scene, *words: str) -> None:
    command = [sys.executable, "-m", "rubrica", *words]
    done = subprocess.run(command, cwd=scene.database.parent, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode not in (0, 100):
        raise RuntimeError(f"rubrica {' '.join(words)}: {done.stderr[-800:]}")


def _gateway(scene: Scene) -> None:
    records = list(_traffic(1_400, datetime.now(UTC)))
    scene.places["trace"] = str(next(one.trace for one in reversed(records) if one.prompt is not None))

    async def write() -> None:
        database = Database.open(str(scene.database))
        try:
            await database.write(add_requests, records)
        finally:
            await database.close()

    with ThreadPoolExecutor(1) as apart:  # the browser has the event loop of this thread
        apart.submit(asyncio.run, write()).result()


def _traffic(count: int, now: datetime) -> Iterator[RequestRecord]:
    """A day of requests, more by day than by night, and a better prompt for tier-0 from noon on."""
    chance = random.Random(11)  # noqa: S311
    for number in range(count):
        back = timedelta(hours=24 * (1 - number / count) ** (0.8 + 0.4 * chance.random()))
        yield _request(now - back, chance, last=number == count - 1)


def _request(at: datetime, chance: random.Random, *, last: bool) -> RequestRecord:
    kind = chance.choices(list(TYPES), (5, 3, 2, 2))[0]
    late = at.hour >= 12
    score = 71.5 if last else round(min(99.0, max(22.0, chance.gauss(84 + 4 * late, 9))), 1)
    passed = score >= TYPES[kind]
    down = not passed and not last and chance.random() < 0.15  # tier-1 did not answer
    first, second, grading = 0.0004 + 0.0008 * chance.random(), 0.0 if passed or down else 0.011, 0.0016
    took: dict[str, Any] = {"tier0_ms": chance.lognormvariate(6.4, 0.4), "grading_ms": chance.lognormvariate(6.0, 0.3)}
    extra = None if passed else chance.lognormvariate(7.4, 0.3)
    judge = "anthropic:claude-haiku-4-5"
    return RequestRecord(
        trace=new_id(at), at=at, status=200, total_ms=sum(took.values()) + (extra or 0.0),
        tier="tier-0" if passed or down else "tier-1", degraded="tier-1 failed" if down else "",
        model="openai:gpt-4o-mini" if passed or down else "anthropic:claude-sonnet-4-5",
        failed_steps="tier-1" if down else "", stream=chance.random() < 0.3,
        question_type=kind, classified_by="offline", classification_confidence=round(0.6 + 0.4 * chance.random(), 2),
        rubric="answer-quality@1.0.0", passed=passed, score=score, threshold=TYPES[kind], gated=False,
        grade_confidence=round(min(1.0, chance.gauss(0.78, 0.08)), 2), variance=round(abs(chance.gauss(1.6, 0.5)), 2),
        dimension_scores={name: GradedDimension(chance.randint(6, 10), 0.8, judge) for name in DIMENSIONS},
        tier0_usd=first, tier1_usd=second, classification_usd=0.0, grading_usd=grading,
        total_usd=first + second + grading, baseline_usd=0.011, tier1_ms=extra, classification_ms=0.4, **took,
        input_tokens=420, output_tokens=260, answer_tokens=180,
        prompt="How do I tell a hornet from a wasp?" if last else None,
        answer="Hornets are larger and have a brown thorax; wasps are black and yellow." if last else None,
    )  # fmt: skip
