"""JUnit XML and GitHub annotations: valid whatever the texts are, and with the right counts."""

from __future__ import annotations

import io
import unicodedata
from collections import Counter
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from run_rows import row, seeded, twins

from rubrica.runs.compare.annotations import (
    MOST_TOLD,
    annotation,
    comparison_table,
    of_comparison,
    of_rows,
    summary_table,
)
from rubrica.runs.compare.comparison import compare
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.grading import Grading
from rubrica.runs.summary.junit import write_junit
from rubrica.runs.summary.outcomes import FailureRule
from rubrica.runs.summary.summary import summarise

PLAIN = FailureRule(Grading())


def suite(rows: list[RunRow], bar: FailureRule = PLAIN) -> tuple[ElementTree.Element, Counter[str]]:
    out = io.StringIO()
    counts = write_junit(lambda: rows, out, name="monday", bar=bar)
    return ElementTree.fromstring(out.getvalue().encode()), Counter(counts)  # noqa: S314 - written just now


def test_every_case_is_a_test_and_bad_verdicts_fail() -> None:
    rows = [
        row("good", 90.0, duration_ms=1500.0),
        row("poor", 10.0, reason="it is short", dimensions={"tone": 2.0}, gates=("veto",)),
        row("open", None),
        row("middling", 60.0, verdict="revise"),
    ]
    root, counts = suite(rows)
    tests = root.findall("testsuite/testcase")
    assert [test.get("name") for test in tests] == ["good", "poor", "open", "middling"]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "1")
    assert counts == {"passed": 2, "failed": 1, "open": 1}
    assert tests[0].get("time") == "1.500000"
    failure = tests[1].find("failure")
    assert failure is not None
    assert failure.get("message") == "fail at 10 of 100: it is short"
    assert failure.text is not None
    assert "tone: 2" in failure.text
    assert "gate veto fired" in failure.text
    assert tests[2].find("error") is not None


def test_what_fails_can_be_named_instead() -> None:
    rows = [row("1", 90.0), row("2", 10.0), row("3", 60.0, verdict="revise")]
    root, _ = suite(rows, FailureRule(Grading(), frozenset({"revise"})))
    assert [test.get("name") for test in root.findall("testsuite/testcase[failure]")] == ["3"]


def test_a_rubric_says_which_verdicts_are_bad() -> None:
    root, _ = suite([row("1", verdict="tin")], FailureRule(Grading(roles={"essay": {"tin": "bad"}})))
    assert root.get("failures") == "1"


@given(st.text(st.characters(codec=None, exclude_categories=[])), st.text())
def test_any_text_gives_valid_xml(case: str, reason: str) -> None:
    root, _ = suite([row(case or "-", 10.0, reason=reason, repeat=1)])
    assert len(root.findall("testsuite/testcase/failure")) == 1


def test_control_characters_are_shown_as_missing_and_line_breaks_kept() -> None:
    root, _ = suite([row("a\x00b\x1b", 10.0, reason="one\ntwo")])
    test = root.find("testsuite/testcase")
    assert test is not None
    assert test.get("name") == "a\ufffdb\ufffd"
    failure = test.find("failure")
    assert failure is not None
    assert failure.get("message") == "fail at 10 of 100: one\ntwo"


SEEN = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf"], include_characters="\n"))


@given(st.text(), SEEN)
def test_an_annotation_is_one_line_that_texts_cannot_end(title: str, message: str) -> None:
    line = annotation("error", title, message)
    assert "\n" not in line
    assert "\r" not in line
    head, _, data = line.removeprefix("::error title=").partition("::")
    assert ":" not in head
    assert "," not in head
    unescaped = data.replace("%0A", "\n").replace("%25", "%")
    assert unescaped == message


@given(st.text(), st.text())
def test_no_text_steers_the_terminal_that_shows_an_annotation(title: str, message: str) -> None:
    line = annotation("error", title, message)
    assert not any(unicodedata.category(sign) in ("Cc", "Cs") and sign != "\t" for sign in line)


def test_as_many_annotations_as_github_shows() -> None:
    rows = [row(str(n), 10.0) for n in range(25)] + [row("open", None), row("fine")]
    lines = list(of_rows(rows, PLAIN))
    errors = [line for line in lines if line.startswith("::error ")]
    assert len(errors) == MOST_TOLD
    assert errors[-1] == "::error title=rubrica::16 more evaluations failed"
    assert sum(line.startswith("::warning ") for line in lines) == 1


def test_exactly_as_many_failures_as_there_is_room_for() -> None:
    lines = list(of_rows([row(str(n), 10.0) for n in range(MOST_TOLD)], PLAIN))
    assert len(lines) == MOST_TOLD
    assert lines[-1].endswith("1 more evaluation failed")


def test_a_regression_is_an_error_and_an_improvement_a_notice() -> None:
    worse, better = twins(seeded(1), 40, drop=-1.5)
    assert all(line.startswith("::notice ") for line in of_comparison(compare(worse, better), "b"))
    lines = list(of_comparison(compare(better, worse), "b"))
    assert lines[0].startswith("::error title=b%3A score::regression: ")
    assert "p < 0.001 over 40 cases" in lines[0]
    few = twins(seeded(1), 4)
    assert next(of_comparison(compare(*few), "b")).startswith("::warning title=b::cannot tell")


def test_tables_for_the_job_page_cannot_be_broken_by_names() -> None:
    rows = [row(str(n), 80.0, verdict="a|b\n<script>", dimensions={"x|y": 1.0 + n}) for n in range(3)]
    for table in (summary_table(summarise(rows), "Run `x`"), comparison_table(compare(rows, rows), "b")):
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
        assert "<script>" not in table
        assert "x\\|y" in table
