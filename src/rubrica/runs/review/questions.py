"""Review files: what people are asked about a sample of a run, and the sheet they read beside it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.model.criteria import MET_OR_NOT
from rubrica.model.dimensions import Axis, Part
from rubrica.model.evaluation import DimensionResult, Evaluation, every_result
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.phrases import Code, Strong, phrase
from rubrica.report.figures import figure, headline
from rubrica.report.printable import printable
from rubrica.report.prose import Block, Heading, Paragraph, TableBlock, markdown
from rubrica.report.rendering import TEMPLATES, stylesheet

from .sampling import DrawnEvaluation

Form = Literal["jsonl", "csv"]
SKIPPED = "n/a"
"""What a cell of a table says where nothing is asked."""
HOW_IT_CAME_ABOUT = {"response_time", "token_count", "model_used", "timestamp"}
"""Metadata that a blind reviewer is not shown."""
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
Rubrics = Mapping[str, Rubric]


@dataclass(frozen=True, slots=True)
class ReviewQuestion:
    """What a person is asked: one dimension, or one part of it, on its scale."""

    name: str
    title: str
    asks: str
    low: float
    high: float
    anchors: tuple[tuple[str, str], ...] = ()
    judged: bool = True  # whether a judge scores it; rules and formulas are not calibrated

    @property
    def scale(self) -> str:
        return f"{figure(self.low)}–{figure(self.high)}"

    @property
    def plain(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "asks": self.asks,
            "scale": [self.low, self.high],
            "anchors": [list(anchor) for anchor in self.anchors],
        }


def rubric_for(evaluation: Evaluation, rubrics: Rubrics) -> Rubric:
    """The rubric an evaluation was made by; an error says how to give it where it is not known."""
    found = rubrics.get(evaluation.rubric)
    reference = f"{evaluation.rubric}@{evaluation.version}"
    if found is None:
        raise RubricaError(f"the run does not hold the rubric {reference}; name its file with --rubric")
    if found.hash != evaluation.hash:
        raise RubricaError(
            f"{evaluation.case or 'an evaluation'} was judged by another text of {reference} than the one given; "
            "name that file with --rubric"
        )
    return found


def questions_of(rubric: Rubric, evaluation: Evaluation | None = None) -> list[ReviewQuestion]:
    """What people are asked: every dimension, or its parts where it has some; not what does not apply."""
    found: list[ReviewQuestion] = []
    for name, dimension in rubric.dimensions.items():
        result = evaluation.dimensions.get(name) if evaluation is not None else None
        if result is not None and result.status == "not_applicable":
            continue
        scale = rubric.scale_of(name)
        axes = {names[-1]: spec for names, spec in dimension.every(name) if not spec.parts}
        if dimension.filled_from is not None:
            answers = dimension.answers or MET_OR_NOT
            parts = result.parts.items() if result is not None else ()
            axes = {part: Part(asks=own.asks, answers=answers) for part, own in parts}
        found += [_question(axis, spec, scale) for axis, spec in axes.items()]
    return found


def result_of(evaluation: Evaluation, axis: str) -> DimensionResult | None:
    """How a dimension or a part came out."""
    if axis in evaluation.dimensions:
        return evaluation.dimensions[axis]
    return next((result for name, result in every_result(evaluation.dimensions) if name == axis), None)


def _question(name: str, axis: Axis, scale: Scale) -> ReviewQuestion:
    anchors = tuple(
        (figure(one.low) if one.low == one.high else f"{figure(one.low)}–{figure(one.high)}", one.text)
        for one in axis.anchor_list
    )
    return ReviewQuestion(
        name, axis.title or headline(name), axis.asks, scale.min, scale.max, anchors, judged=axis.kind == "judge"
    )


# --- the file ---------------------------------------------------------------------------------------------


def write_review(
    drawn: Sequence[DrawnEvaluation], rubrics: Rubrics, out: TextIO, form: Form, *, show_judge: bool
) -> None:
    """The file that a person fills in. Unless `show_judge` is set, nothing in it tells what the judge gave."""
    if form == "jsonl":
        for one in drawn:
            out.write(json.dumps(_record(one, rubrics, show_judge), ensure_ascii=False) + "\n")
        return
    records = [_record(one, rubrics, show_judge) for one in drawn]
    names = _columns(drawn, rubrics)
    out.write("\ufeff")  # spreadsheets take a file without it for something else than UTF-8
    sheet = csv.writer(out)
    judge = ["judge_verdict", "judge_score"] if show_judge else []
    texts = ("item", "case", "rubric", "about", "prompt", "response")
    given = [f"judge_{name}" for name in names] if show_judge else []
    sheet.writerow([*texts, *judge, *given, "reviewer", *names.values(), "note"])
    for record in records:
        about = "; ".join(f"{key}: {value}" for key, value in record.get("about", {}).items())
        cells = [_cell(str(record.get(name, ""))) for name in texts if name != "about"]
        cells.insert(3, _cell(about))
        if show_judge:
            seen = record["judge"]
            cells += [seen["verdict"], "" if seen["score"] is None else figure(seen["score"])]
            cells += [_number(seen["scores"].get(name)) for name in names]
        sheet.writerow([*cells, "", *("" if name in record["scores"] else SKIPPED for name in names), ""])


def _record(one: DrawnEvaluation, rubrics: Rubrics, show_judge: bool) -> dict[str, Any]:
    evaluation = one.evaluation
    context = evaluation.context or Context()
    asked = questions_of(rubric_for(evaluation, rubrics), evaluation)
    about = about_of(context)
    record: dict[str, Any] = {
        "item": one.item,
        "case": evaluation.case or "",
        "rubric": f"{evaluation.rubric}@{evaluation.version}",
        **({"about": about} if about else {}),
        "prompt": asked_of(context),
        "response": context.response,
    }
    if show_judge:
        values = {q.name: found.value for q in asked if (found := result_of(evaluation, q.name)) is not None}
        record["judge"] = {
            "verdict": evaluation.verdict,
            "score": evaluation.score,
            "reason": evaluation.reason,
            "scores": values,
        }
    return record | {"reviewer": "", "scores": {question.name: None for question in asked}, "note": ""}


def asked_of(context: Context) -> str:
    """What was asked; of a conversation, all that came before the response."""
    if not context.messages:
        return context.prompt
    before = list(context.messages)
    if before[-1].role == "assistant" and before[-1].content == context.response:
        before.pop()
    return "\n\n".join(f"{message.role}: {message.content}" for message in before)


def about_of(context: Context) -> dict[str, str]:
    """What else is known about the case, such as its grade or type of question."""
    known = context.metadata.model_dump(mode="json", exclude_defaults=True)
    return {name: str(value) for name, value in known.items() if name not in HOW_IT_CAME_ABOUT}


def _columns(drawn: Sequence[DrawnEvaluation], rubrics: Rubrics) -> dict[str, str]:
    """A table's columns of scores by what they ask, titled with the scale where that is the same for all."""
    scales: dict[str, set[str]] = {}
    for one in drawn:
        for question in questions_of(rubric_for(one.evaluation, rubrics), one.evaluation):
            scales.setdefault(question.name, set()).add(question.scale)
    return {name: f"{name} ({found.pop()})" if len(found) == 1 else name for name, found in scales.items()}


def _cell(text: str) -> str:
    """Text that a spreadsheet takes for text: what looks like a formula gets an apostrophe before it."""
    text = printable(text.replace("\r\n", "\n"))
    return f"'{text}" if text.startswith(_FORMULA_SIGNS) else text


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


# --- the sheet --------------------------------------------------------------------------------------------


def sheet_markdown(drawn: Sequence[DrawnEvaluation], rubrics: Rubrics, file: str) -> str:
    """What a reviewer reads beside the file: how to fill it in, the questions and their anchors."""
    return markdown(list(_sheet_blocks(drawn, rubrics, file)))


def sheet_html(drawn: Sequence[DrawnEvaluation], rubrics: Rubrics, file: str) -> str:
    """The same as a page, with the texts to be judged."""
    items = [
        {
            "item": one.item,
            "case": one.evaluation.case or "",
            "rubric": rubric_for(one.evaluation, rubrics).display_title,
            "about": about_of(context),
            "prompt": asked_of(context),
            "response": context.response,
            "questions": questions_of(rubric_for(one.evaluation, rubrics), one.evaluation),
        }
        for one in drawn
        for context in [one.evaluation.context or Context()]
    ]
    page = TEMPLATES.get_template("run_review.html.j2")
    blocks = list(_sheet_blocks(drawn, rubrics, file))
    return page.render(title="Review sheet", style=stylesheet(), blocks=blocks, items=items)


def _sheet_blocks(drawn: Sequence[DrawnEvaluation], rubrics: Rubrics, file: str) -> Iterator[Block]:
    yield Heading(1, "Review sheet")
    yield Paragraph(
        phrase(
            f"There are {len(drawn):,} responses to judge in ", Code(file), ". Put your name under ",
            Code("reviewer"), ", and give each a score on every question below. Leave out what you cannot tell; "
            "what you would say about it goes under ", Code("note"), ".",
        )
    )  # fmt: skip
    yield Paragraph(("Judge each response by itself, and do not talk about scores before everybody is done.",))
    used = {one.evaluation.rubric: rubric_for(one.evaluation, rubrics) for one in drawn}
    for rubric in used.values():
        yield Heading(2, rubric.display_title)
        if rubric.description:
            yield Paragraph((rubric.description,))
        for question in questions_of(rubric):
            yield Heading(3, question.title)
            yield Paragraph(
                phrase(f"{question.asks} " if question.asks else "", Code(question.name), ", ", Strong(question.scale))
            )
            if question.anchors:
                rows = tuple(((score,), (text,)) for score, text in question.anchors)
                yield TableBlock(("Score", "What it looks like"), rows)
