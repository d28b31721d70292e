"""Rubrics as OpenAI's graders: one grader for a dimension, and a `multi` for several."""

from __future__ import annotations

import re
from typing import Any

from rubrica.formula import parse
from rubrica.formula.nodes import Binary, Call, Name, Number, Unary, walk
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.model.rules import Pattern

from .conversion import SCORED, Conversion, Path, Reading, lose_rest
from .criterion_lists import leaves_of
from .label_names import without_legend
from .openai_import import FUNCTIONS, REFERENCE_FORMULAS
from .templates import REFERENCE, RESPONSE, write_messages

_TARGET = "OpenAI's graders"
_MODEL = "gpt-4.1-2025-04-14"
"""What a grader is asked with where nobody says another: they have to name one."""
_OPERATIONS = {formula: operation for operation, formula in REFERENCE_FORMULAS.items()}
_PASS = re.compile(r"(\w+) >= (-?[0-9.]+(?:e[+-]?\d+)?)")
_LITERAL = re.compile(r"(\\A)?((?:\w| |\\[!-/:-@\[-`{-~]|\\x\{[0-9a-f]{1,6}\})+)(\\z)?")
_CHARACTER = re.compile(r"\\(?:x\{([0-9a-f]+)\}|(.))")


def write_grader(rubric: Rubric, model: str = _MODEL) -> Conversion:
    """The grader of a rubric; `model` is what its questions are put to."""
    reading = Reading()
    lose_rest(rubric, ("context", "patterns", "judging", "verdicts", "title"), _TARGET, reading)
    reading.lose_keys(
        rubric.judging.model_dump(mode="json", exclude_defaults=True), ("effort", "max_tokens"), ("judging",), _TARGET
    )
    writer = _GraderWriter(rubric, model, reading)
    leaves = list(leaves_of(rubric, reading))
    graders = {name: writer.grader(name, axis, path) for name, _, axis, path in leaves}
    left = {name: one for name, one in graders.items() if one is not None}
    if not left:
        reading.refuse_rest("no dimension can be a grader", ("dimensions",))
        return reading.done(None)
    single = len(leaves) == 1 and rubric.score.formula is None
    if single:
        (name,) = left
        if rubric.title:
            reading.lose(f"has no place in {_TARGET}", ("title",))
        return reading.done(writer.with_verdicts(name, left[name]))
    if len(left) < len(leaves):
        missing = ", ".join(name for name in graders if name not in left)
        reading.refuse_rest(f"the score needs {missing}, which no grader can give", ("score",))
    if rubric.model_dump(mode="json", exclude_defaults=True)["verdicts"] != SCORED:
        reading.lose(f"has no place in {_TARGET}", ("verdicts",))
    formula = writer.formula([(name, share, path) for name, share, _, path in leaves])
    return reading.done({"type": "multi", "name": rubric.display_title, "graders": left, "calculate_output": formula})


class _GraderWriter:
    """Writes graders with what the rubric says for all of them."""

    def __init__(self, rubric: Rubric, model: str, reading: Reading) -> None:
        self.rubric, self.reading = rubric, reading
        judging = rubric.judging
        params = {"reasoning_effort": judging.effort, "max_completions_tokens": judging.max_tokens}
        self.model = {"model": model}
        self.params = {key: value for key, value in params.items() if value is not None}

    def grader(self, name: str, axis: Axis, path: Path) -> dict[str, Any] | None:
        shared = {"name": axis.title or name}
        told = axis.model_dump(mode="json", exclude_defaults=True)
        known = ("asks", "answers", "weight", "points", "title", "scale", "formula", "scorer")
        if axis.kind == "judge":
            self.reading.lose_keys(told, known, path, _TARGET)
            if not axis.asks:
                self.reading.lose("asks nothing, and is left out", path)
                return None
            return {**shared, **self._model(axis, path)}
        if axis.answers_for_parts:
            self.reading.lose("each case brings its criteria: export the cases --to healthbench", path)
            return None
        check = self._string_check(axis)
        if check is None:
            self.reading.lose(f"is scored by {axis.kind}, which no grader does: it is left out", path)
            return None
        self.reading.lose_keys(told, known, path, _TARGET)
        return {**shared, **check}

    def with_verdicts(self, name: str, found: dict[str, Any]) -> dict[str, Any]:
        """A grader that stands alone, with the threshold that the verdicts say."""
        verdicts = self.rubric.model_dump(mode="json", exclude_defaults=True)["verdicts"]
        if verdicts == SCORED:
            return found
        first = _PASS.fullmatch(str(verdicts[0].get("when")))
        plain = [one.get("label") for one in verdicts] == ["pass", "fail"] and len(verdicts[0]) == 2
        if plain and first is not None and first[1] in (name, "score"):
            if found["type"] == "label_model" and float(first[2]) == 1:
                return found
            if found["type"] == "score_model" and (first[1] == name or self.rubric.score.out_of == self._high()):
                least = float(first[2])
                return {**found, "pass_threshold": int(least) if least.is_integer() else least}
        self.reading.lose(f"has no place in {_TARGET}", ("verdicts",))
        return found

    def _high(self) -> float:
        (name,) = self.rubric.dimensions
        return self.rubric.scale_of(name).max

    def formula(self, leaves: list[tuple[str, float, Path]]) -> str:
        """What the score is worked out by: the rubric's own formula, or the points or weights of its leaves."""
        score = self.rubric.score
        if score.formula is not None:
            for node in walk(parse(score.formula).root):
                plain = isinstance(node, Number | Name | Unary) or (isinstance(node, Binary) and node.op in "+-*/**")
                if not plain and not (isinstance(node, Call) and node.function in FUNCTIONS):
                    self.reading.refuse(
                        f"{_TARGET} only know + - * / ^ and {', '.join(sorted(FUNCTIONS))}", ("score", "formula")
                    )
                    break
            return score.formula.replace("**", "^")
        total = sum(share for _, share, _ in leaves if share > 0)
        terms = [f"{share:.12g} * {self._share(name, path)}" for name, share, path in leaves]
        if score.points:
            return f"max(0, min(1, ({' + '.join(terms)}) / {total:.12g}))"
        return " + ".join(terms)

    def _share(self, name: str, path: Path) -> str:
        scale = self.rubric.scale_of(str(path[1]))
        if scale.ends == (0, 1):
            return name
        return f"{name} / {scale.max:g}" if scale.min >= 0 else f"({name} - {scale.min:g}) / {scale.max - scale.min:g}"

    def _model(self, axis: Axis, path: Path) -> dict[str, Any]:
        fields = tuple(self.rubric.context or {})
        question, labels = without_legend(axis.asks, tuple(axis.answers))
        if axis.answers and set(axis.answers.values()) == {0, 1}:
            for key in self.params:
                self.reading.lose(f"a label_model takes no {key}", path)
            passing = [labels[name] for name, value in axis.answers.items() if value == 1]
            return {
                "type": "label_model",
                "input": write_messages(question, fields),
                "labels": list(labels.values()),
                "passing_labels": passing,
                **self.model,
            }
        scale = self.rubric.scale_of(str(path[1]))
        if axis.answers:
            self.reading.lose("labels become numbers, as the question then says", (*path, "answers"))
            values = "\n".join(
                f"- {labels[name]}: {value:g}" for name, value in axis.answers.items() if value is not None
            )
            question += f"\n\nGive one of these scores:\n{values}"
        return {
            "type": "score_model",
            "input": write_messages(question, fields),
            "range": [_plain(end) for end in scale.ends],
            **self.model,
            **({"sampling_params": self.params} if self.params else {}),
        }

    def _string_check(self, axis: Axis) -> dict[str, Any] | None:
        if operation := _OPERATIONS.get(axis.formula or ""):
            return {"type": "string_check", "input": RESPONSE, "reference": REFERENCE, "operation": operation}
        found = re.fullmatch(r"(1 - )?min\(1, (\w+)\)", axis.formula or "")
        pattern = None if found is None else self.rubric.patterns.get(found[2])
        if found is None or pattern is None or (literal := _literal(pattern)) is None:
            return None
        wanted, everything = literal
        operation = "eq" if everything else "ilike" if pattern.ignore_case else "like"
        if found[1] and operation != "eq":
            return None
        return {
            "type": "string_check",
            "input": RESPONSE,
            "reference": wanted,
            "operation": "ne" if found[1] else operation,
        }


def _literal(pattern: Pattern) -> tuple[str, bool] | None:
    """The text that a pattern looks for, and whether it must be all of the response; None for any other pattern."""
    found = _LITERAL.fullmatch(pattern.regex or "")
    if found is None or bool(found[1]) != bool(found[3]) or pattern.field != "response":
        return None
    if found[1] and pattern.ignore_case:
        return None
    return _CHARACTER.sub(lambda one: one[2] or chr(int(one[1], 16)), found[2]), bool(found[1])


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else value
