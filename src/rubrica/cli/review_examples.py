"""Examples for a judge out of people's scores: written into its rubric, and told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rubrica.errors import RubricaError
from rubrica.model.rubric import Rubric
from rubrica.runs.review.people_examples import ReviewedExample, document_with_examples

from .output_files import atomic_text_file

MOST_NAMED = 20
ExamplesByAxis = Mapping[str, Sequence[ReviewedExample]]


def write_examples(
    output: str, found: Mapping[str, ExamplesByAxis], rubrics: Mapping[str, Rubric], *, force: bool
) -> ExamplesByAxis:
    """Write the rubric with its examples; those that were chosen, by dimension."""
    if not found:
        raise RubricaError("no examples: people agree on no response that a judge scored")
    (name, shown), *others = found.items()
    if others:
        raise RubricaError(f"people scored by several rubrics ({', '.join(sorted(found))}); import them one by one")
    with atomic_text_file(output, force=force) as file:
        file.write(document_with_examples(rubrics[name], shown))
    return shown


def examples_report(output: str, shown: ExamplesByAxis) -> Iterator[str]:
    """What was written, and which cases must not be used to measure the judge any more."""
    counts = ", ".join(f"{axis} {len(own)}" for axis, own in shown.items())
    cases = sorted({one.case for own in shown.values() for one in own})
    named = ", ".join(cases[:MOST_NAMED]) + (" …" if len(cases) > MOST_NAMED else "")
    yield f"examples in {output}: {counts}"
    yield f"leave their cases out where you measure the judge, for it has seen the answers: {named}"
