"""What a judge is told: templates from `prompts/*.md`, the rubric in words, and the judged material between fences.

Requests begin alike, so that providers' prompt caches find the beginning again. The system message holds the
instructions and, where all dimensions are asked about at once, the rubric and its anchors: it is the same for every
context. The user message holds the fence and the material. Where every dimension is a request of its own, its question,
scale and anchors come last: requests about one context differ in nothing else.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal, TypeVar

import msgspec

from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale

from .fence import Fence, JudgedTexts, TokenSource, visible

Kind = Literal["each", "batch", "together", "listwise", "holistic", "prefer", "yes_no", "question_type", "repair"]
Item = TypeVar("Item")

REFERENCE = "reference"
"""The name under which a case gives an answer that is known to be good, and the label of the fence around it."""

ABOUT_REFERENCE = (
    "The text labelled reference is an answer that is known to be good. Hold the response against what it says, not "
    "against its words or its length: another good answer may look different. It is not what you judge."
)
_USER, _CRITERION = "<!-- user -->\n", "<!-- criterion -->\n"
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_TWO_BLANKS = re.compile(r"\n{3,}")


class Template(msgspec.Struct, frozen=True):
    """A prompt with placeholders: ``{{name}}``. `hash` identifies its wording in results and caches.

    Where there is a `criterion`, the user message ends with it, and all before it is the same whatever is asked.
    """

    system: str
    user: str
    hash: str
    criterion: str = ""

    def fill(self, values: Mapping[str, str]) -> tuple[str, str]:
        """The system and the user message. What is put in is not looked at again, so it cannot hold placeholders.

        >>> Template("Judge {{what}}.", "{{text}}", "").fill({"what": "this", "text": "{{what}}"})
        ('Judge this.', '{{what}}')
        """
        return self.fill_system(values), self.fill_user(values)

    def fill_system(self, values: Mapping[str, str]) -> str:
        return _TWO_BLANKS.sub("\n\n", _filled(self.system, values)).strip()

    def fill_user(self, values: Mapping[str, str]) -> str:
        return _filled(self.user, values).strip()

    def fill_criterion(self, values: Mapping[str, str]) -> str:
        return "\n\n" + _filled(self.criterion, values).strip()


def _filled(text: str, values: Mapping[str, str]) -> str:
    pieces = list(_pieces(text))
    pieces[1::2] = [values[name] for name in pieces[1::2]]
    return "".join(pieces)


@cache
def _pieces(text: str) -> tuple[str, ...]:
    """A template taken apart at its placeholders: every second piece is the name of one."""
    return tuple(_PLACEHOLDER.split(text))


@cache
def template(kind: Kind) -> Template:
    """A bundled template of what judges are asked."""
    return read_template(_folder(), kind)


def read_template(folder: Traversable, name: str) -> Template:
    """The template ``NAME.md`` of a folder, with the paragraph on untrusted material in its place."""
    text = (folder / f"{name}.md").read_text("utf-8")
    text = text.replace("{{untrusted}}", (_folder() / "untrusted.md").read_text("utf-8").strip())
    system, found, rest = text.partition(_USER)
    user, _, criterion = (rest if found else text).partition(_CRITERION)
    return Template(system if found else "", user, hashlib.sha256(text.encode()).hexdigest(), criterion)


def _folder() -> Traversable:
    return resources.files("rubrica.judges") / "prompts"


@dataclass(frozen=True)
class Material:
    """What is judged, piece by piece: each goes between fences under its label. Notes are the rubric's own words."""

    pieces: tuple[tuple[str, str], ...]
    images: tuple[str, ...] = ()
    notes: str = ""

    @classmethod
    def of(cls, context: Context, rubric: Rubric) -> Material:
        """All of a context that a judge may see: what the rubric declares, the talk before, question, reference answer
        and response."""
        reference = _reference(context)
        pieces = [
            ("facts", "\n".join(_facts(context, rubric))),
            ("conversation", "\n\n".join(_conversation(context))),
            ("question", context.prompt),
            (REFERENCE, reference),
            ("response", context.response or "(the response is empty)"),
            ("images", "\n".join(f"image {n}: {image.alt}" for n, image in enumerate(context.images, 1) if image.alt)),
        ]
        return cls(
            tuple((label, text) for label, text in pieces if text),
            tuple(image.url for image in context.images),
            "\n\n".join(note for note in (_notes(context, rubric), ABOUT_REFERENCE if reference else "") if note),
        )

    @cached_property
    def quoted(self) -> JudgedTexts:
        return JudgedTexts(tuple(text for _, text in self.pieces))

    def fence(self, source: TokenSource) -> Fence:
        return Fence.for_texts([text for _, text in self.pieces], source)

    def between(self, fence: Fence) -> str:
        fenced = (fence.around(label, text) for label, text in self.pieces)
        return "\n\n".join((self.notes, *fenced) if self.notes else fenced)


def about(rubric: Rubric) -> str:
    """What the rubric is for, in a line or two."""
    return f"{rubric.display_title}. {' '.join(rubric.description.split())}".strip()


def dimensions(axes: Mapping[str, Axis], scales: Mapping[str, Scale]) -> str:
    """The axes as a judge reads them: the question, the scale and every anchor, best first."""
    return "\n\n".join(_dimension(name, axis, scales[name]) for name, axis in axes.items())


def reason_words(rubric: Rubric) -> dict[str, str]:
    """What a prompt asks for besides scores: how many words a reason may have, and whether there are remarks."""
    if rubric.judging.reasons == "short":
        return {"words": "15", "advice": "", "remarks": ""}
    return {
        "words": "60",
        "advice": "4. Then say what would help its author: what is wrong, what is good, and what to change.",
        "remarks": "- `issues`, `strengths`, `suggestions`: up to six short sentences each, concrete enough to act on; "
        "an empty list where\n  there is nothing to say.",
    }


def sections(rubric: Rubric, names: Iterable[str]) -> str:
    """What to note about the sections, where the rubric has some."""
    lines = [
        f"- {name}: {rubric.sections[name].title or name}, which covers {', '.join(rubric.sections[name].dimensions)}"
        for name in names
    ]
    if not lines:
        return ""
    return "\n".join(
        ["", "## The sections", "", "In `sections`, sum up each of these in one or two sentences:", "", *lines, ""]
    )


def issue_classes(rubric: Rubric) -> str:
    """How issues are to be sorted, where the rubric has classes for them."""
    classes = rubric.judging.issue_classes
    if not classes or rubric.judging.reasons == "short":
        return ""
    lines = [f"- [{name}] {' '.join(says.split())}" for name, says in classes.items()]
    asks = "Begin each of `issues` with its class in brackets, as it stands here:"
    return "\n".join(["", "## The classes of issues", "", asks, "", *lines, ""])


def shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """The items in an order chosen by the seed; 0 leaves them as they are.

    >>> shuffled("abcd", 0), shuffled("abcd", 7) == shuffled("abcd", 7)
    (['a', 'b', 'c', 'd'], True)
    """
    order = list(items)
    if seed:
        random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
    return order


def _dimension(name: str, axis: Axis, scale: Scale) -> str:
    lines = [f"### {name}" + (f" ({axis.title})" if axis.title and axis.title != name else ""), ""]
    lines += [visible(" ".join(axis.asks.split()))] if axis.asks else []  # a case's criterion may hide something
    if axis.answers:
        lines += [f"Answer with one of: {', '.join(axis.answers)}. It takes the place of a score: give it as `answer`."]
        return "\n".join(lines)
    lines += [f"Scale: {scale.min:g} (worst) to {scale.max:g} (best)."]
    for anchor in axis.anchor_list:
        span = f"{anchor.low:g}" if anchor.low == anchor.high else f"{anchor.low:g} to {anchor.high:g}"
        lines.append(f"- {span}: {' '.join(anchor.text.split())}")
    return "\n".join(lines)


def _facts(context: Context, rubric: Rubric) -> list[str]:
    """The context names that the rubric declares, with their values."""
    declared = {name: spec.says for name, spec in (rubric.context or {}).items()}
    if rubric.profiles is not None:
        declared.setdefault(rubric.profiles.by, "")
    lines = []
    for name, says in declared.items():
        value = context.lookup(name)
        if value is not None and not (name == REFERENCE and _reference(context)):  # it has a place of its own
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            lines.append(f"{name}{f' ({says})' if says else ''}: {text}")
    return lines


def _reference(context: Context) -> str:
    given = context.lookup(REFERENCE)
    return given if isinstance(given, str) and given.strip() else ""


def _notes(context: Context, rubric: Rubric) -> str:
    """The note of the rubric that the context chooses. The value only chooses: what is shown is the author's."""
    found = rubric.notes.find(context.lookup(rubric.notes.by)) if rubric.notes is not None else None
    if found is None or rubric.notes is None:
        return ""
    name, note = found
    return f"This response has the {rubric.notes.by} {name}. Bear in mind: {' '.join(note.text.split())}"


def _conversation(context: Context) -> list[str]:
    """What was said before the question that the response answers."""
    if context.round_history:
        return [f"user: {past.prompt}\n\nassistant: {past.response}" for past in context.round_history]
    turns = [(message.role, message.content) for message in context.messages]
    for last in (("assistant", context.response), ("user", context.prompt)):
        if turns and turns[-1] == last:
            turns.pop()
    return [f"{role}: {content}" for role, content in turns]
