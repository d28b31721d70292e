"""OpenAI's graders as rubrics: `score_model`, `label_model`, `string_check`, and `multi` with its formula.

`python` runs code, and no rubric of Rubrica does. `text_similarity` measures by figures that nobody defines exactly
enough for them to come out the same here. Both are refused with the way out, for a grader that is left out would
change what a `multi` counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from string import punctuation
from typing import Any

from rubrica.errors import FormulaError
from rubrica.formula import Interval, parse

from .conversion import SCORED, Conversion, Path, Reading, number, shown, text
from .label_names import answer_names, name_of, reserved_names, with_legend
from .templates import field_of, placeholder, read_messages

COMMON = ("type", "name")
EFFORTS = ("low", "medium", "high")
RESPONSE = "sample.output_text"
REFERENCE_FORMULAS = {
    "eq": "equals_reference",
    "ne": "1 - equals_reference",
    "like": "contains_reference",
    "ilike": "contains_reference_in_any_case",
}
"""What compares a response with the reference of its case."""
_METRICS = {
    "fuzzy_match": "is a ratio of rapidfuzz, and nobody says which of its kinds",
    "bleu": "hangs on how words are split and short texts smoothed, which nobody says",
    "gleu": "hangs on how words are split, which nobody says",
    "meteor": "needs a dictionary of synonyms and stems",
    "cosine": "compares vectors of OpenAI's text-embedding-3-large",
    **dict.fromkeys(
        ("rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l"),
        "hangs on how words are split and stemmed, and on recall or F1, which nobody says",
    ),
}
"""The figures of a `text_similarity`, and why none of them can be worked out here as it is there."""
FUNCTIONS = frozenset({"min", "max", "abs", "floor", "ceil", "exp", "sqrt", "log"})
"""What `calculate_output` may call."""
_REFUSED = {
    "python": ("runs Python code, and a rubric runs none", "write it as rules, a formula or a rule type of your own"),
    "multi": ("is a multi inside a multi", "write one formula over all graders"),
}


def read_grader(data: Any, name: str) -> Conversion:
    """The rubric document of a grader, also inside the `grader` of a request."""
    reader = _GraderReader()
    if isinstance(data, dict) and isinstance(data.get("grader"), dict):
        reader.reading.lose_keys(data, ("grader",), (), "a rubric of Rubrica")
        data = data["grader"]
    if not isinstance(data, dict):
        reader.reading.refuse(f"a grader is one object with a type, not {shown(data)}", (), "give several in a multi")
        return reader.reading.done(None)
    document = reader.multi(data) if data.get("type") == "multi" else reader.single(data)
    if reader.fields:
        document["context"] = {key: {"says": says, "optional": True} for key, says in reader.fields.items()}
    if reader.patterns:
        document["patterns"] = reader.patterns
    if reader.judging:
        document["judging"] = reader.judging
    return reader.reading.done({"name": name, **document})


@dataclass(slots=True)
class _GraderReader:
    """Reads graders, and gathers what all of them need of the rubric."""

    reading: Reading = field(default_factory=Reading)
    fields: dict[str, str] = field(default_factory=dict)
    patterns: dict[str, dict[str, Any]] = field(default_factory=dict)
    judging: dict[str, Any] = field(default_factory=dict)
    compared: str = ""  # the template that stands for the reference of a case

    def single(self, data: dict[str, Any]) -> dict[str, Any]:
        key = name_of(str(data.get("name") or "grade"), reserved_names(), "g_")
        found = self.grader(data, key, ())
        scale = found.pop("scale", None)
        out_of = 1 if scale is None else scale["max"]
        if scale is not None and scale["max"] <= 0:
            self.reading.refuse("the highest score is not above 0", ("range",))
        if scale is not None and scale["min"] < 0:
            self.reading.lose(f"the score counts from {scale['min']:g} as 0; the dimension keeps its value", ("range",))
        verdicts: list[dict[str, Any]] = list(SCORED)
        if data.get("type") == "label_model":
            verdicts = [{"label": "pass", "when": f"{key} >= 1"}, {"label": "fail"}]
        elif data.get("pass_threshold") is not None:
            least = number(data["pass_threshold"], ("pass_threshold",), self.reading, what="pass_threshold")
            verdicts = [{"label": "pass", "when": f"{key} >= {least}"}, {"label": "fail"}]
        return {
            **({} if scale is None else {"scale": scale}),
            "dimensions": {key: {**found, "weight": 1}},
            **({} if out_of == 1 else {"score": {"out_of": out_of}}),
            "verdicts": verdicts,
        }

    def multi(self, data: dict[str, Any]) -> dict[str, Any]:
        self.reading.lose_keys(data, (*COMMON, "graders", "calculate_output"), (), "a rubric of Rubrica")
        title = data.get("name")
        shared = {"title": title} if isinstance(title, str) and title.strip() else {}
        found = data.get("graders")
        if isinstance(found, list):
            found = {str(one.get("name")) if isinstance(one, dict) else str(at): one for at, one in enumerate(found)}
        if not isinstance(found, dict) or not found:
            self.reading.refuse(f"graders are an object of graders by name, not {shown(found)}", ("graders",))
            found = {}
        dimensions: dict[str, Any] = {}
        names: dict[str, str] = {}
        taken = reserved_names()
        for key, one in found.items():
            names[key] = name_of(key, taken, "g_")
            taken.add(names[key])
            path: Path = ("graders", key)
            if isinstance(one, dict):
                dimensions[names[key]] = self.grader(one, names[key], path)
                if one.get("pass_threshold") is not None:
                    self.reading.lose("the formula decides alone", (*path, "pass_threshold"))
            else:
                self.reading.refuse(f"a grader is an object, not {shown(one)}", path)
        written = text(data.get("calculate_output"), ("calculate_output",), self.reading, what="the formula")
        formula = self.formula(written or "0", names)
        high = self.highest(formula, dimensions)
        if high <= 1:
            return {**shared, "dimensions": dimensions, "score": {"formula": formula}, "verdicts": list(SCORED)}
        return {
            **shared,
            "scale": {"min": 0, "max": high},
            "dimensions": {key: {"scale": {"min": 0, "max": 1}, **one} for key, one in dimensions.items()},
            "score": {"formula": formula, "out_of": high},
            "verdicts": list(SCORED),
        }

    def highest(self, formula: str, dimensions: dict[str, Any]) -> float:
        """The most that a formula can give. What it gives below 0 counts 0, and that is told."""
        if self.reading.faults:
            return 1
        scales = {key: one.get("scale", {"min": 0, "max": 1}) for key, one in dimensions.items()}
        found = parse(formula).interval({key: Interval.of(one["min"], one["max"]) for key, one in scales.items()})
        if found.lo < 0 and found.sure:
            self.reading.lose(f"can give {found.lo:g}; a score counts 0 at least", ("calculate_output",))
        if not found.sure or found.hi > 1e12:
            self.reading.lose("may have no value; the score is kept between 0 and 1", ("calculate_output",))
            return 1
        return found.hi

    def formula(self, written: str, names: dict[str, str]) -> str:
        """The formula of a multi in Rubrica's words: the same but for powers."""
        for key, name in names.items():
            if key != name:
                written = re.sub(rf"(?<!\w){re.escape(key)}(?!\w|\s*\()", name, written)
        written = written.replace("^", "**")
        try:
            unknown = parse(written).names - set(names.values())
        except FormulaError as error:
            self.reading.refuse(str(error), ("calculate_output",))
            return written
        if unknown:
            self.reading.refuse(f"no grader is called {sorted(unknown)[0]!r}", ("calculate_output",))
        return written

    def grader(self, data: dict[str, Any], key: str, path: Path) -> dict[str, Any]:
        """The dimension of one grader."""
        title = data.get("name")
        shared = {"title": title} if isinstance(title, str) and title not in ("", key) else {}
        match data.get("type"):
            case "score_model":
                return {**shared, **self.score_model(data, path)}
            case "label_model":
                return {**shared, **self.label_model(data, path)}
            case "string_check":
                return {**shared, **self.string_check(data, key, path)}
            case "text_similarity":
                self.text_similarity(data, key, path)
            case str(kind) if kind in _REFUSED:
                self.reading.refuse(f"the grader {key} {_REFUSED[kind][0]}", (*path, "type"), _REFUSED[kind][1])
            case other:
                known = "score_model, label_model, string_check or multi"
                self.reading.refuse(f"there is no grader of type {shown(other)}", (*path, "type"), known)
        return {}

    def score_model(self, data: dict[str, Any], path: Path) -> dict[str, Any]:
        known = (*COMMON, "input", "model", "range", "sampling_params", "pass_threshold")
        self.reading.lose_keys(data, known, path, "a rubric of Rubrica")
        self.model(data, path)
        asks = read_messages(data.get("input"), (*path, "input"), self.reading, self.fields)
        found = data.get("range")
        if found is None or found == [0, 1]:
            return {"asks": asks}
        ends = found if isinstance(found, list) and len(found) == 2 else [None, None]
        low = number(ends[0], (*path, "range"), self.reading, what="the lower end of the range")
        high = number(ends[1], (*path, "range"), self.reading, what="the upper end of the range")
        if low is None or high is None:
            return {"asks": asks}
        if low >= high:
            self.reading.refuse(f"the range ends at {high:g}, before it begins", (*path, "range"))
        return {"asks": asks, "scale": {"min": low, "max": high}}

    def label_model(self, data: dict[str, Any], path: Path) -> dict[str, Any]:
        known = (*COMMON, "input", "model", "labels", "passing_labels", "sampling_params")
        self.reading.lose_keys(data, known, path, "a rubric of Rubrica")
        self.model(data, path)
        asks = read_messages(data.get("input"), (*path, "input"), self.reading, self.fields)
        labels, passing = _texts(data.get("labels")), _texts(data.get("passing_labels"))
        if not passing or not set(passing) < set(labels):
            what = "labels are texts, and passing_labels some of them but not all"
            self.reading.refuse(what, (*path, "labels"))
            return {}
        names = answer_names(labels)
        answers = {name: int(label in passing) for name, label in names.items()}
        return {"asks": with_legend(asks, names), "answers": answers}

    def string_check(self, data: dict[str, Any], key: str, path: Path) -> dict[str, Any]:
        self.reading.lose_keys(data, (*COMMON, "input", "reference", "operation"), path, "a rubric of Rubrica")
        operation = data.get("operation")
        if operation not in ("eq", "ne", "like", "ilike"):
            self.reading.refuse(
                f"there is no operation {shown(operation)}", (*path, "operation"), "eq, ne, like or ilike"
            )
            return {}
        given, wanted = data.get("input"), data.get("reference")
        if not isinstance(given, str) or not isinstance(wanted, str):
            self.reading.refuse("input and reference are texts", path)
            return {}
        if operation in ("eq", "ne") and placeholder(wanted) == RESPONSE:
            given, wanted = wanted, given
        if placeholder(given) != RESPONSE:
            reads = placeholder(given) or shown(given)
            self.reading.refuse(f"compares {reads}, and code here reads the response alone", (*path, "input"))
            return {}
        if "{{" in wanted:
            return self.reference_check(placeholder(wanted), operation, (*path, "reference"))
        if not wanted:
            self.reading.refuse("compares with nothing", (*path, "reference"))
            return {}
        self.patterns[f"{key}_text"] = literal_pattern(wanted, operation)
        found = f"min(1, {key}_text)"
        return {"formula": f"1 - {found}" if operation == "ne" else found}

    def reference_check(self, template: str, operation: str, path: Path) -> dict[str, Any]:
        """A check against a field of each item, which the case has as its reference."""
        if not template.startswith("item."):
            what = f"compares with {template or 'a template among other words'}, which no case has as a text"
            self.reading.refuse(what, path, "put the text to compare with into one field of each item")
            return {}
        if self.compared not in ("", template):
            what = f"compares with {template}, and another check with {self.compared}; a case has one reference"
            self.reading.refuse(what, path, "ask a judge (label_model) about one of the two")
            return {}
        self.compared = template
        if column := field_of(template):
            fix = f"--map reference={column}"
            self.reading.lose(f"reads {column} of an item as the `reference` of a case", path, fix)
        return {"formula": REFERENCE_FORMULAS[operation]}

    def text_similarity(self, data: dict[str, Any], key: str, path: Path) -> None:
        metric = data.get("evaluation_metric")
        why = _METRICS.get(metric) if isinstance(metric, str) else None
        if why is None:
            here: Path = (*path, "evaluation_metric")
            self.reading.refuse(f"there is no metric {shown(metric)}", here, f"one of {', '.join(_METRICS)}")
            return
        self.reading.refuse(
            f"the grader {key} measures likeness by {metric}, which {why}: another figure would change the score",
            (*path, "evaluation_metric"),
            "ask a judge (score_model), give the figure with each case and read it in a formula, or check with "
            "contains_reference whether the `reference` is there",
        )

    def model(self, data: dict[str, Any], path: Path) -> None:
        """What a grader says of its model: effort and length of its reply are kept, the rest is told."""
        if isinstance(data.get("model"), str):
            fix = f"judge with --judge openai:{data['model'][:60]}"
            self.reading.lose("a rubric names no model", (*path, "model"), fix)
        params = data.get("sampling_params")
        if not isinstance(params, dict):
            return
        here: Path = (*path, "sampling_params")
        kept = {}
        if params.get("reasoning_effort") in EFFORTS:
            kept["effort"] = params["reasoning_effort"]
        most = next(
            (key for key in ("max_completions_tokens", "max_completion_tokens", "max_tokens") if key in params), ""
        )
        if isinstance(params.get(most), int) and 16 <= params[most] <= 200_000:
            kept["max_tokens"] = params[most]
        carried = {"reasoning_effort" for key in kept if key == "effort"} | {
            most for key in kept if key == "max_tokens"
        }
        for key in kept:
            if self.judging.setdefault(key, kept[key]) != kept[key]:
                self.reading.lose(f"{key} is one for the whole rubric: {self.judging[key]}", here)
        self.reading.lose_keys(params, carried, here, "a rubric of Rubrica")


def literal_pattern(wanted: str, operation: str) -> dict[str, Any]:
    """A pattern that finds a text as it stands: all of the response, or anywhere in it."""
    quoted = "".join(map(_quoted, wanted))
    if operation in ("eq", "ne"):
        return {"regex": rf"\A{quoted}\z"}
    return {"regex": quoted, **({"ignore_case": True} if operation == "ilike" else {})}


def _quoted(character: str) -> str:
    if character.isalnum() or character in " _":
        return character
    return f"\\{character}" if character in punctuation else f"\\x{{{ord(character):x}}}"


def _texts(found: Any) -> list[str]:
    """Texts of a list; none where it is something else."""
    if isinstance(found, list) and all(isinstance(one, str) and one.strip() for one in found):
        return [one.strip() for one in found]
    return []
