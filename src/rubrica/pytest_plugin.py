"""The pytest plugin: ``--rubrica-report``, ``--rubrica-judge``, and what `rubrica.assert_passes` found, told where
tests failed.

Loading it costs a session nothing: nothing of Rubrica is imported before a test, or one of the options, asks for it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rubrica.model.rubric import Rubric

ATTACHED = "rubrica_judged"
"""The attribute of a test's report that carries what it judged, as plain data: a pytest-xdist worker sends it home."""
_TESTING = "rubrica.testing"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rubrica", "judging with rubrics")
    group.addoption("--rubrica-report", metavar="FILE.html", help="write every evaluation of the session to this page")
    group.addoption("--rubrica-judge", metavar="MODEL", help="the judge that rubrica.assert_passes asks by default")


def pytest_configure(config: pytest.Config) -> None:
    report, judge = config.getoption("--rubrica-report"), config.getoption("--rubrica-judge")
    if report is not None and not Path(report).absolute().parent.is_dir():
        raise pytest.UsageError(f"--rubrica-report: there is no folder {Path(report).absolute().parent}")
    if judge is not None:
        from rubrica.testing import SESSION

        SESSION.judge = judge
    config.pluginmanager.register(Listener(report), "rubrica-listener")


class Listener:
    """Takes what each test judged, and tells it at the end."""

    def __init__(self, report: str | None) -> None:
        self.report = report
        self.verdicts: Counter[str] = Counter()
        self.usd = 0.0
        self.judged: list[dict[str, Any]] = []  # only where a page is wanted
        self.rubrics: dict[str, dict[str, Any]] = {}  # documents by hash
        self.written = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
        item: pytest.Item,  # noqa: ARG002
        call: pytest.CallInfo[None],  # noqa: ARG002
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        testing = sys.modules.get(_TESTING)
        if testing is not None and (found := testing.SESSION.take()):
            setattr(report, ATTACHED, [_plain(judged, self.report is not None) for judged in found])
            if report.failed:
                lines = (line for judged in found for line in testing.outline_of(judged.evaluation))
                report.sections.append(("judged by rubrica", "\n".join(lines)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for judged in getattr(report, ATTACHED, ()):
            self.verdicts[judged["verdict"]] += 1
            self.usd += judged["usd"] or 0.0
            if self.report is not None and "evaluation" in judged:
                self.rubrics.setdefault(judged["hash"], judged["document"])
                self.judged.append({"test": report.nodeid, **judged, "document": None})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.report is not None and not hasattr(session.config, "workerinput"):
            self.written = _write(self.report, self.judged, self.rubrics)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.verdicts:
            counts = ", ".join(f"{count:,} {verdict}" for verdict, count in self.verdicts.most_common())
            paid = f", ${self.usd:.4f}" if self.usd else ""
            terminalreporter.write_line(f"rubrica: {self.verdicts.total():,} judged ({counts}){paid}")
        if self.written:
            terminalreporter.write_line(self.written)


def _plain(judged: Any, whole: bool) -> dict[str, Any]:
    evaluation, rubric = judged.evaluation, judged.rubric
    usd = evaluation.cost.usd if evaluation.cost is not None else None
    told = {"verdict": evaluation.verdict, "failed": bool(judged.complaint), "usd": usd}
    if not whole:
        return told
    document = rubric.model_dump(mode="json", exclude_defaults=True)
    return {**told, "hash": evaluation.hash, "document": document, "evaluation": evaluation.to_json()}


def _write(path: str, judged: list[dict[str, Any]], documents: dict[str, dict[str, Any]]) -> str:
    """Write the page, those that failed first; the line that says so."""
    from msgspec.structs import replace

    from rubrica.engine.load import rubric_from_data
    from rubrica.model.evaluation import Evaluation
    from rubrica.phrases import count_of
    from rubrica.report.page import write_report

    rubrics: dict[str, Rubric] = {}
    for document in documents.values():
        rubric = rubric_from_data(document)
        rubrics[rubric.reference] = rubric
    evaluations = (
        replace(Evaluation.from_json(one["evaluation"]), case=one["test"])
        for one in sorted(judged, key=lambda one: not one["failed"])
    )
    try:
        with Path(path).open("w", encoding="utf-8") as page:
            count = write_report(evaluations, page, title="Judged by tests", rubrics=rubrics)
    except OSError as error:
        return f"rubrica: {path} cannot be written: {error.strerror}"
    return f"rubrica: {count_of(count, 'evaluation')} in {path}"
