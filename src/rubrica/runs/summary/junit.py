"""JUnit XML: a run as a suite of tests, one for every evaluation, as CI systems read it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from rubrica.report.figures import figure
from rubrica.report.printable import printable
from rubrica.runs.files.rows import RunRow

from .outcomes import FailureRule, Outcome, headline_of, title_of

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS: dict[Outcome, str] = {"failed": "failure", "open": "error"}


def write_junit(rows: Callable[[], Iterable[RunRow]], out: TextIO, *, name: str, bar: FailureRule) -> Counter[Outcome]:
    """Write a run as one suite; how many passed, failed and are open. The rows are read twice and not kept."""
    outcomes: Counter[Outcome] = Counter()
    seconds = 0.0
    for row in rows():
        outcomes[bar.outcome(row)] += 1
        seconds += row.duration_ms / 1000
    totals = (
        f"tests={_attribute(outcomes.total())} failures={_attribute(outcomes['failed'])} "
        f"errors={_attribute(outcomes['open'])} time={_attribute(f'{seconds:.3f}')}"
    )
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="rubrica" {totals}>\n')
    out.write(f'<testsuite name={_attribute(name)} {totals} skipped="0">\n')
    for row in rows():
        out.write(_test(row, bar.outcome(row)))
    out.write("</testsuite>\n</testsuites>\n")
    return outcomes


def _test(row: RunRow, outcome: Outcome) -> str:
    start = (
        f"<testcase classname={_attribute(row.rubric)} name={_attribute(title_of(row))} "
        f"time={_attribute(f'{row.duration_ms / 1000:.6f}')}>"
    )
    output = f"<system-out>{_text(_case_text(row))}</system-out>"
    if outcome == "passed":
        return f"{start}{output}</testcase>\n"
    tag = _TAGS[outcome]
    shown = (
        f"<{tag} message={_attribute(headline_of(row))} type={_attribute(row.verdict)}>{_text(_case_text(row))}</{tag}>"
    )
    return f"{start}{shown}{output}</testcase>\n"


def _case_text(row: RunRow) -> str:
    lines = [headline_of(row)]
    lines += [f"{name}: {figure(value)}" for name, value in (*row.sections.items(), *row.dimensions.items())]
    lines += [f"gate {name} fired" for name in row.gates]
    lines += [f"{name} has no score" for name in row.unscored]
    return "\n".join(lines)


def _attribute(value: object) -> str:
    return quoteattr(_clean(str(value)), {"\n": "&#10;", "\t": "&#9;"})


def _text(value: str) -> str:
    return escape(_clean(value))


def _clean(text: str) -> str:
    """Text as XML can hold it: what it cannot, and what steers a terminal, stands as �."""
    return printable(_NOT_XML.sub("\ufffd", text.replace("\r\n", "\n")))
