"""The ModelJudge: scores a rubric's judged axes by asking a language model."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import msgspec

from rubrica.errors import ContextError
from rubrica.llm.model import Model, Request
from rubrica.llm.reasoning import reasoning_tokens
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Remarks, Score, Unscored
from rubrica.model.judge import Judgement
from rubrica.model.judge_options import MOST_BATCHED
from rubrica.model.rubric import Rubric

from . import prompt, shape
from .axis_questions import ONE, AxisQuestions, ShownContext, exchange_each, joined, scale_of, without
from .ballot_reply import completed, read_entries, read_ranking
from .batches import BatchTerms, batch_question, in_batches
from .exchange import AskingTerms, Cell, JudgeQuestion, ParsedReply, Price, exchange
from .fence import TokenSource, process_token
from .listwise_reply import read_listwise, read_response_scores
from .mark import MISSING, UNREADABLE
from .reply import read_many, read_overall
from .suspicion import suspicions
from .yes_no import LONGEST_ANSWER

DEBATE = (
    "You have reviewed these responses before. Other reviewers' points are between the fences too. Weigh them by their "
    "reasons, not by their number: keep a score where you find no mistake in it, and change it where a point is right."
)
HOLISTIC_FORM = "Score: X.X | Reasoning: …"
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,38}[A-Za-z0-9])?")


class ResponseReview(msgspec.Struct, frozen=True):
    """One response as a reviewer of several saw it.

    `overall` is one score for the response as a whole, given instead of scores for the axes. If the reviewer scored any
    axis, its own totals are ignored.
    """

    scores: Mapping[str, Score | Unscored]
    notes: str = ""
    overall: Score | None = None
    ranking: tuple[str, ...] = ()  # of all responses, names as the reviewer wrote them; the same for each of them
    entries: tuple[str, ...] = ()  # the names it gave scores to, as it wrote them
    cut: str = ""  # why there is no more of its reply


class ReviewAsides(msgspec.Struct, frozen=True):
    """What a reviewer is shown besides the responses."""

    points: str = ""  # what other reviewers noted: shown as material
    checked: str = ""  # what code found out about the responses


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """Asks one model about a rubric's axes. Failures are Unscored with their reason, axis by axis.

    `seed` and `repeat` choose the order in which axes and responses are shown (both 0: as written) and make repeated
    requests differ. `on_unreadable` gets each request whose reply was unusable, so that a cache can drop it. A
    score's confidence is the judge's own statement.
    """

    model: Model
    rubric: Rubric
    seed: int = field(default=0, kw_only=True)
    repeat: int = field(default=0, kw_only=True)
    temperature: float = field(default=0.0, kw_only=True)
    max_tokens: int | None = field(default=None, kw_only=True)  # for one reply; left out, by what is asked
    limit_key: str = field(default="judging.max_tokens", kw_only=True)  # the setting that allows more of them
    price: Price | None = field(default=None, kw_only=True)
    fence_source: TokenSource = field(default=process_token, kw_only=True)
    on_unreadable: Callable[[Request], None] | None = field(default=None, kw_only=True)
    clock: Callable[[], float] = field(default=time.perf_counter, kw_only=True)
    _questions: AxisQuestions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        questions = AxisQuestions(self.rubric, lambda: self.judged, self.fence_source)
        object.__setattr__(self, "_questions", questions)

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Judgement:
        """A Score or Unscored for every axis: one call each, or one for all, as the rubric's `judging.mode` says."""
        if not axes:
            return Judgement({})
        judging, own = self.rubric.judging, self._questions.own
        if judging.one_by_one:
            return Judgement(await self._each(axes, context, judging.batch))
        brought = {name: axis for name, axis in axes.items() if name not in own}
        if not brought:
            return Judgement(*await self.together(axes, context))
        # Criteria of a case do not belong in the instructions: they are asked in batches, after the material.
        rest = {name: axis for name, axis in axes.items() if name not in brought}
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(self._each(brought, context, MOST_BATCHED))
            scores, remarks = await self.together(rest, context) if rest else ({}, None)
        return Judgement({**scores, **asked.result()}, remarks)

    async def together(
        self, axes: Mapping[str, Axis], context: Context
    ) -> tuple[dict[str, Score | Unscored], Remarks | None]:
        """All axes in one call, and the judge's remarks; None where its reply gave none."""
        outcomes, answer = await exchange(self._together(axes, context), self._terms(1280 + 256 * len(axes)))
        return {axis: outcomes[ONE, axis] for axis in axes}, answer.remarks

    async def review(
        self,
        question: str,
        responses: Mapping[str, str],
        axes: Mapping[str, Axis] | None = None,
        deadline: float | None = None,
        asides: ReviewAsides | None = None,
    ) -> dict[str, ResponseReview]:
        """Several responses to one question in one call, each scored by itself. Labels should not tell the authors.

        An axis that is not the rubric's own is scored on the rubric's scale. `deadline` is in seconds. Of a reply that
        is cut off, what is complete is used.
        """
        axes = self.judged if axes is None else axes
        if not responses or not axes:
            return {label: ResponseReview({}) for label in responses}
        if odd := [label for label in responses if not _LABEL.fullmatch(label)]:
            raise ContextError(f"{odd[0]!r} cannot label a response; use letters, digits and spaces, such as A or B")
        if taken := axes.keys() & {"notes", "confidence"}:
            raise ContextError(f"a dimension called {sorted(taken)[0]!r} cannot be reviewed listwise; rename it")
        ask = self._listwise(question, responses, axes, asides or ReviewAsides())
        outcomes, answer = await exchange(ask, self._terms(256 + len(responses) * (320 + 24 * len(axes)), deadline))
        return {
            label: ResponseReview(
                {axis: outcomes[label, axis] for axis in axes},
                answer.notes.get(label, ""),
                self._whole(answer, label),
                answer.ranking,
                answer.entries,
                answer.cut,
            )
            for label in responses
        }

    def _whole(self, answer: ParsedReply, label: str) -> Score | None:
        mark = answer.wholes.get(label)
        if mark is None:
            return None
        return Score(mark.value, mark.reason, mark.confidence, "llm", judge=self.model.name)

    async def overall(self, context: Context) -> Score | Unscored:
        """One score for the response as a whole, on the rubric's scale."""
        outcomes, _ = await exchange(self._holistic(context), self._terms(512))
        return outcomes[ONE, "overall"]

    @property
    def judged(self) -> dict[str, Axis]:
        """The axes of the rubric that only a judge can score, parts included."""
        found: dict[str, Axis] = {}
        for name, dimension in self.rubric.dimensions.items():
            found |= {names[-1]: axis for names, axis in dimension.every(name) if axis.kind == "judge"}
        return found

    async def _each(self, axes: Mapping[str, Axis], context: Context, batch: int) -> dict[str, Score | Unscored]:
        questions = self._questions
        material, several = prompt.Material.of(context, self.rubric), len(axes) > 1 or len(questions.own) > 1
        shown = ShownContext.of(questions.kind, material, self.fence_source, _signs(context), several=several)
        tokens = LONGEST_ANSWER if questions.kind == "yes_no" else 512
        deadline = self.rubric.judging.deadline  # a late axis is given up alone

        def alone(name: str) -> JudgeQuestion:
            return questions.of(name, axes[name]).about(shown, self._to_be_seen({name: axes[name]}, material))

        if batch == 1 or len(axes) == 1:
            outcomes = await exchange_each([alone(name) for name in axes], self._terms(tokens, deadline))
        else:
            asks = [
                batch_question(questions, some, shown, self._to_be_seen(some, material))
                if len(some) > 1
                else alone(next(iter(some)))
                for some in in_batches(self._shown(axes), batch)
            ]
            asking = BatchTerms(alone, self._terms(tokens).max_tokens)
            outcomes = await exchange_each(asks, self._terms(256 * (1 + min(batch, len(axes))), deadline), asking)
        return {name: outcomes[ONE, name] for name in axes}

    def _to_be_seen(self, axes: Mapping[str, Axis], material: prompt.Material) -> tuple[Cell, ...] | None:
        return self._sighted(axes) if material.images or any(axis.looks for axis in axes.values()) else None

    def _together(self, axes: Mapping[str, Axis], context: Context) -> JudgeQuestion:
        material = prompt.Material.of(context, self.rubric)
        fence, quoted = material.fence(self.fence_source), material.quoted
        shown = self._shown(axes)
        scales = {name: scale_of(self.rubric, name) for name in shown}
        forms = {name: axis.answer_set or scales[name] for name, axis in shown.items()}
        sections = self._sections(axes)
        examples, references = self._questions.shared_examples(axes), self._questions.references_of(shown)

        def form(cells: Collection[Cell]) -> shape.Shape:
            wanted = {name: forms[name] for name in shown if (ONE, name) in cells}
            return shape.axes_shape(wanted, sections, self.rubric.judging.reasons)

        def read(text: str) -> ParsedReply:
            marks, remarks = read_many(without(fence.cut(text), (examples, references)), forms, quoted)
            return ParsedReply({(ONE, name): mark for name, mark in marks.items()}, remarks)

        cells = tuple((ONE, name) for name in shown)
        system, user = prompt.template("together").fill(
            {
                "rubric": prompt.about(self.rubric),
                "dimensions": prompt.dimensions(shown, scales) + joined([references]),
                "examples": examples.text,
                **prompt.reason_words(self.rubric),
                "sections": prompt.sections(self.rubric, sections) + prompt.issue_classes(self.rubric),
                "shape": shape.skeleton(form(cells)),
                "names": ", ".join(shown),
                "token": fence.token,
                "material": material.between(fence),
            }
        )
        sighted = self._to_be_seen(shown, material)
        return JudgeQuestion(
            system, user, cells, read, form, images=material.images, suspicions=_signs(context), sighted=sighted
        )

    def _sighted(self, axes: Mapping[str, Axis]) -> tuple[Cell, ...] | None:
        """Those of the axes that need to be seen; None where the rubric does not tell any of its axes apart."""
        seen = tuple((ONE, name) for name, axis in axes.items() if axis.looks)
        return seen if seen or any(axis.looks for axis in self.judged.values()) else None

    def _listwise(
        self, question: str, responses: Mapping[str, str], axes: Mapping[str, Axis], asides: ReviewAsides
    ) -> JudgeQuestion:
        labels = prompt.shuffled(list(responses), self._order)
        pieces = [("question", question)] if question else []
        pieces += [(f"response {label}", responses[label] or "(the response is empty)") for label in labels]
        pieces += [("points of other reviewers", asides.points)] if asides.points else []
        material = prompt.Material(tuple(pieces))
        fence, quoted = material.fence(self.fence_source), material.quoted
        shown = self._shown(axes)
        scales = {name: scale_of(self.rubric, name) for name in shown}
        forms = {name: axis.answer_set or scales[name] for name, axis in shown.items()}
        examples, references = self._questions.examples_of(shown), self._questions.references_of(shown)

        def form(cells: Collection[Cell]) -> shape.Shape:
            wanted = {label for label, _ in cells}
            return shape.listwise_shape([label for label in labels if label in wanted], forms)

        def read(text: str) -> ParsedReply:
            own = without(fence.cut(text), (examples, references))
            rows, notes = read_listwise(own, labels, forms, quoted)
            ignored = [
                label for label, row in rows.items() if all(mark in (MISSING, UNREADABLE) for mark in row.values())
            ]
            wholes = read_response_scores(own, ignored, self.rubric.scale, quoted) if ignored else {}
            unscored = len(ignored) == len(labels) and not wholes
            return ParsedReply(
                {(label, name): mark for label, row in rows.items() for name, mark in row.items()},
                notes=notes,
                wholes=wholes,
                ranking=read_ranking(own, labels, quoted) if unscored else (),
                entries=read_entries(own, quoted),
            )

        cells = tuple((label, name) for label in labels for name in shown)
        system, user = prompt.template("listwise").fill(
            {
                "rubric": prompt.about(self.rubric),
                "dimensions": prompt.dimensions(shown, scales) + joined([references]),
                "examples": examples.text,
                "shape": shape.skeleton(form(cells)),
                "names": ", ".join(f"response {label}" for label in labels),
                "token": fence.token,
                "material": material.between(fence),
                "checked": f"Checked by code: {asides.checked}\n\n" if asides.checked else "",
                "debate": f"{DEBATE}\n\n" if asides.points else "",
            }
        )
        signs = {label: suspicions(text) for label, text in responses.items()}

        def salvage(text: str) -> ParsedReply:
            return read(completed(text))

        return JudgeQuestion(system, user, cells, read, form, suspicions=signs, salvage=salvage)

    def _holistic(self, context: Context) -> JudgeQuestion:
        material = prompt.Material.of(context, self.rubric)
        fence, quoted = material.fence(self.fence_source), material.quoted
        scale, shown = self.rubric.scale, self._shown(self.rubric.dimensions)
        scales = {name: scale_of(self.rubric, name) for name in shown}
        examples, references = self._questions.examples_of(self.judged), self._questions.references_of(self.judged)

        def read(text: str) -> ParsedReply:
            return ParsedReply({cell: read_overall(without(fence.cut(text), (examples, references)), scale, quoted)})

        system, user = prompt.template("holistic").fill(
            {
                "rubric": prompt.about(self.rubric),
                "dimensions": prompt.dimensions(shown, scales) + joined([references]),
                "examples": examples.text,
                "scale": f"{scale.min:g} to {scale.max:g}",
                "token": fence.token,
                "material": material.between(fence),
            }
        )
        cell = (ONE, "overall")
        return JudgeQuestion(
            system,
            user,
            cells=(cell,),
            read=read,
            shape=lambda _: None,
            form=HOLISTIC_FORM,
            images=material.images,
            suspicions=_signs(context),
        )

    @property
    def _order(self) -> int:
        """The seed of the order in which things are shown."""
        return self.seed * 1000 + self.repeat

    def _shown(self, axes: Mapping[str, Axis]) -> dict[str, Axis]:
        return {name: axes[name] for name in prompt.shuffled(list(axes), self._order)}

    def _sections(self, axes: Collection[str]) -> list[str]:
        """The sections that have one of the axes in them."""
        covered = {
            name
            for name, spec in self.rubric.dimensions.items()
            if any(names[-1] in axes for names, _ in spec.every(name))
        }
        return [name for name, section in self.rubric.sections.items() if not covered.isdisjoint(section.dimensions)]

    def _terms(self, max_tokens: int, deadline: float | None = None) -> AskingTerms:
        judging = self.rubric.judging
        return AskingTerms(
            self.model,
            self.max_tokens or judging.max_tokens or max_tokens + reasoning_tokens(self.model.name, judging.effort),
            self.temperature,
            self._order,
            self.price,
            self.on_unreadable,
            self.clock,
            deadline,
            judging.effort,
            self.limit_key,
        )


def _signs(context: Context) -> dict[str, tuple[str, ...]]:
    """Signs that the response talks to its judge. The question may well speak of scores: it is not looked at."""
    return {ONE: suspicions("\n\n".join([context.response, *(image.alt for image in context.images)]))}
