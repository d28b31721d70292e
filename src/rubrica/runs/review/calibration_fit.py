"""What people's labels teach about a rubric's judges: corrections, and the document that carries them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from textwrap import indent
from typing import Any

import yaml

from rubrica.engine.document import check_size, read_document
from rubrica.engine.load import rubric_from_text
from rubrica.errors import RubricaError, RubricError
from rubrica.judges.calibration import CalibrationOutcome, UncorrectedDimension, calibrate
from rubrica.judges.labels import Label, UnlabelledScore, read_labels
from rubrica.model.calibration import Calibration
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.phrases import count_of


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """What a calibration came to, and all that is told about it."""

    rubric: Rubric
    found: CalibrationOutcome
    items: Mapping[str, int]  # labelled items by axis
    unlabelled: Sequence[str]  # axes that a judge scores and nobody labelled
    left_out: int = 0  # lines on which the judge or the person gave nothing

    @property
    def by_agreement(self) -> Sequence[str]:
        """The axes whose judges are weighed without anybody's label."""
        found = self.found.calibration
        return [] if found is None else [name for name, own in found.dimensions.items() if not own.labels]

    @property
    def replaced(self) -> Sequence[str]:
        """The axes that an earlier calibration corrects and this one does not."""
        earlier, found = self.rubric.calibration, self.found.calibration
        if earlier is None or found is None:
            return []
        return [name for name in earlier.dimensions if name not in found.dimensions]


def learn_calibration(rubric: Rubric, lines: Iterable[str], *, file: str, seed: int, on: date) -> CalibrationFit:
    """Read labels and learn from those of axes that a judge scores; the others are refused."""
    axes = dict(_axes(rubric))
    read = read_labels(lines, {name: scale for name, (_, scale) in axes.items()}, file)
    labels: list[Label | UnlabelledScore] = [*read.scores, *read.unlabelled]
    if not labels and not read.choices:
        halves = f": on {count_of(read.left_out, 'line')} the judge and the person scored no dimension both"
        why = halves if read.left_out else ""
        raise RubricaError(f"{file}: there are no labels in it{why}; `rubrica calibrate --help` shows a line of them")
    judged = {name: scale for name, (axis, scale) in axes.items() if axis.kind == "judge" and not axis.answers}
    version = rubric.calibration.version + 1 if rubric.calibration is not None else 1
    usable = [*(label for label in labels if label.dimension in judged), *read.choices]
    found = calibrate(usable, judged, version=version, on=on, seed=seed, how=rubric.judging.pool)
    items: dict[str, set[tuple[str, str]]] = {}
    for label in labels:
        own = items.setdefault(label.dimension, set())
        if isinstance(label, Label):
            own.add((label.unit, label.item))
    refused = {name: UncorrectedDimension(_unjudged(name, axes[name][0])) for name in items if name not in judged}
    return CalibrationFit(
        rubric,
        replace(found, refused={**found.refused, **refused}),
        {name: len(own) for name, own in items.items()},
        [name for name in judged if name not in items] if read.scores else [],
        read.left_out,
    )


def _axes(rubric: Rubric) -> Iterator[tuple[str, tuple[Axis, Scale]]]:
    """Everything scored, by name: dimensions, and their parts on the dimension's scale."""
    for name, dimension in rubric.dimensions.items():
        scale = rubric.scale_of(name)
        yield from ((names[-1], (axis, scale)) for names, axis in dimension.every(name))


def _unjudged(name: str, axis: Axis) -> str:
    if axis.answers:
        return f"{name} has answers, which are not corrected; say in `asks` when each is right"
    if axis.kind == "parts":
        return f"{name} is worked out from its parts; label the parts that a judge scores"
    ways = {"rules": "rules", "formula": "a formula", "check": "a checklist"}
    return f"{name} is scored by {ways[axis.kind]}, not by a judge; change those where people disagree with them"


def next_version(version: str) -> str:
    """The version after this one: its last number is one higher.

    >>> next_version("1.0.9"), next_version("2"), next_version("1.2.0-beta")
    ('1.0.10', '3', '1.2.1-beta')
    """
    length = next((place for place, mark in enumerate(version) if mark in "-+"), len(version))
    head, dot, last = version[:length].rpartition(".")
    return f"{head}{dot}{int(last) + 1}{version[length:]}"


def document_with(calibration: Calibration, rubric: Rubric, text: str, *, as_json: bool) -> str:
    """The author's document with its version raised and these corrections; all else stays as it was written.

    It is read again before it is handed out: the rubric in it is the old one, but for these two.
    """
    version = next_version(rubric.version)
    block = calibration.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    check_size(text)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if as_json or root.flow_style:  # JSON, which YAML readers take too
        data = {**read_document(text).data, "version": version, "calibration": block}
        amended = json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n"
    else:
        amended = _edited(text, version, block, _source(calibration))
    try:
        same = rubric_from_text(amended) == rubric.model_copy(update={"version": version, "calibration": calibration})
    except RubricError:
        same = False
    if not same:
        raise RubricaError(
            f"{rubric.reference}: the version or calibration in its document cannot be replaced where it stands "
            "(write `name: …` and `version: …` on lines of their own, without anchors or aliases, and "
            "`calibration:` last; or choose an output that ends in .json)"
        )
    return amended


def _edited(text: str, version: str, block: Mapping[str, Any], source: str) -> str:
    """YAML text with the version replaced in its line, and the block replaced in its place or put at the end."""
    crlf = "\r\n" in text
    text = text.replace("\r\n", "\n").rstrip("\n") + "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    keys = {key.value: (key, value) for key, value in root.value}
    margin = " " * root.start_mark.column
    dumped = yaml.safe_dump(dict(block), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    added = f"calibration:  # learned from {source}; `rubrica calibrate` replaces it\n{indent(dumped, margin + '  ')}"
    edits: list[tuple[int, int, str]] = []
    if "calibration" in keys:
        key, value = keys["calibration"]
        lines = text.split("\n")
        end = sum(len(line) + 1 for line in lines[: _last_line(value) + 1])
        edits.append((key.start_mark.index, end, added))
    else:
        edits.append((root.end_mark.index, root.end_mark.index, f"\n{margin}{added}"))
    if "version" in keys:
        value = keys["version"][1]
        edits.append((value.start_mark.index, value.end_mark.index, _scalar(version, value.style)))
    else:
        after = text.index("\n", keys["name"][1].end_mark.index) + 1
        edits.append((after, after, f"{margin}version: {_scalar(version, None)}\n"))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text.replace("\n", "\r\n") if crlf else text


def _source(calibration: Calibration) -> str:
    """What all of it was learned from, in words."""
    counts = [own.labels for own in calibration.dimensions.values()]
    if calibration.choices is not None:
        counts.append(calibration.choices.labels)
    return "human labels" if any(counts) or calibration.reliability else "how far judges agree, without human labels"


def _last_line(node: yaml.Node) -> int:
    """Where a value ends. A block's own mark stands at the next key, past comments that belong to that one."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.line)


def _scalar(version: str, style: str | None) -> str:
    """A version as YAML text that reads as text, quoted as it was before."""
    quote = style if style in ("'", '"') else "" if yaml.safe_load(version) == version else '"'
    return f"{quote}{version}{quote}"
