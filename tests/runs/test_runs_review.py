"""Reviews: fair samples, blind files, what people filled in read back, and the judge held against them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs_samples import JUDGE, STYLE, TONE, a_run, judged, many, plan_of
from typer.testing import CliRunner, Result

from rubrica.cli.review import app
from rubrica.errors import InputError, RubricaError
from rubrica.judges.labels import read_labels
from rubrica.model.evaluation import Evaluation, Vote
from rubrica.model.rubric import Rubric
from rubrica.runs.review.agreement import agreements, labels, verdict_agreement
from rubrica.runs.review.opinions import BadRecord, FilledRecord, read_filled, read_reviews
from rubrica.runs.review.questions import Form, questions_of, sheet_html, sheet_markdown, write_review
from rubrica.runs.review.sampling import DrawnEvaluation, doubts, draw, item_of, sizes, stratum_of

Cli = Callable[..., Result]


@pytest.fixture
def cli() -> Cli:
    runner = CliRunner(env={"COLUMNS": "140", "NO_COLOR": "1", "TERM": "dumb"})

    def run(*args: str | Path) -> Result:
        result = runner.invoke(app, [str(arg) for arg in args])
        assert result.exception is None or isinstance(result.exception, SystemExit | RubricaError), result.exception
        return result

    return run


def written(drawn: list[DrawnEvaluation], rubrics: dict[str, Rubric], form: Form, show_judge: bool = False) -> str:
    out = StringIO()
    write_review(drawn, rubrics, out, form, show_judge=show_judge)
    return out.getvalue()


def fill(evaluation: Evaluation, reviewer: str, line: int = 1, **scores: object) -> FilledRecord:
    return FilledRecord("review.jsonl", line, item_of(evaluation), "", reviewer, scores)


# --- samples ----------------------------------------------------------------------------------------------


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 500), min_size=1), st.floats(0.001, 1))
def test_every_stratum_is_drawn_from_and_the_whole_is_the_share_asked_for(counts: dict[str, int], share: float) -> None:
    found = sizes(counts, share)
    assert found.keys() == counts.keys()
    assert all(1 <= found[stratum] <= counts[stratum] for stratum in counts)
    total = round(sum(counts.values()) * share)
    assert total <= sum(found.values()) <= total + len(counts)
    assert all(abs(found[stratum] - counts[stratum] * share) <= 1 for stratum in counts)


def test_a_sample_does_not_depend_on_the_order_in_which_cases_were_finished(tmp_path: Path) -> None:
    some = many(plan_of(tmp_path), 200)
    first = [one.item for one in draw(lambda: some, 0.1, seed=4)]
    assert first == [one.item for one in draw(lambda: some[::-1], 0.1, seed=4)]
    assert first != [one.item for one in draw(lambda: some, 0.1, seed=5)]
    assert 20 <= len(first) <= 28


def test_a_sample_has_something_of_everything_and_each_case_once(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    some = many(plan, 150)
    again = [judged(plan, one.case or "", {"warmth": 5.0, "wit": 5.0}, repeat=1) for one in some]
    drawn = draw(lambda: [*some, *again], 0.1)
    strata = Counter(map(stratum_of, some))
    assert {one.stratum for one in drawn} == set(strata)
    assert len({one.evaluation.case for one in drawn}) == len(drawn)
    assert all(one.evaluation.repeat == 0 for one in drawn)
    assert "tone@1.0.0, fail, 25–50%, doubtful" in strata


def test_a_sample_can_be_spread_over_any_metadata(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    some = [judged(plan, f"c{n}", {"warmth": 5.0, "wit": 5.0}, context={"grade": 3 if n else 5}) for n in range(50)]
    drawn = draw(lambda: some, 0.02, by=["grade", "profile"])
    assert sorted(one.stratum for one in drawn) == ["grade 3, no profile", "grade 5, no profile"]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="the share to review"):
        draw(list, share)


def test_doubt_is_low_confidence_judges_apart_or_a_missing_score(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    both = {"warmth": 5.0, "wit": 5.0}
    near, apart = (tuple(Vote(judge, value) for judge, value in pairs) for pairs in (_votes(5, 6), _votes(3, 7)))
    assert list(doubts(judged(plan, "a", both, votes={"wit": near}))) == []
    assert list(doubts(judged(plan, "a", both, votes={"wit": apart}))) == ["the judges disagree on wit"]
    assert list(doubts(judged(plan, "a", both, confidence=0.5))) == ["confidence 0.50"]
    assert "wit has no score" in list(doubts(judged(plan, "a", {"warmth": 5.0, "wit": None})))


def _votes(*values: float) -> list[tuple[str, float]]:
    return [(f"judge {number}", value) for number, value in enumerate(values)]


# --- the file and the sheet -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_review_file_shows_what_the_judge_gave_only_when_it_is_asked_to(tmp_path: Path, form: Form) -> None:
    plan = plan_of(tmp_path)
    drawn = draw(lambda: [judged(plan, "a", {"warmth": 3.25, "wit": 8.75}, context={"grade": 4})], 1)
    rubrics = {"tone": plan.rubric}
    blind, shown = (written(drawn, rubrics, form, show_judge) for show_judge in (False, True))
    for told in ("3.25", "8.75", "verdict", "because", "fail"):
        assert told not in blind
    assert "3.25" in shown
    assert "8.75" in shown
    assert "Say hello." in blind
    assert "Hello from a." in blind
    assert "grade" in blind


def test_only_what_applies_is_asked_and_parts_in_place_of_their_dimension(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    plain = judged(plan, "a", {"warmth": 3.0}, context={"custom_metrics": {"joke_wanted": 0}})
    assert [question.name for question in questions_of(plan.rubric, plain)] == ["warmth"]
    style = plan_of(tmp_path, STYLE)
    asked = questions_of(style.rubric, judged(style, "a", {"order": 0.5, "layout": 1.0}))
    assert [(question.name, question.scale, question.judged) for question in asked] == [
        ("order", "0–1", True),
        ("layout", "0–1", False),
    ]


def test_a_table_of_mixed_rubrics_asks_each_its_own(tmp_path: Path) -> None:
    tone, style = plan_of(tmp_path), plan_of(tmp_path, STYLE)
    some = [judged(tone, "a", {"warmth": 3.0, "wit": 3.0}), judged(style, "b", {"order": 0.5, "layout": 1.0})]
    text = written(draw(lambda: some, 1), {"tone": tone.rubric, "style": style.rubric}, "csv")
    by_case = {row["case"]: row for row in csv.DictReader(StringIO(text.removeprefix("\ufeff")))}
    assert by_case["a"]["warmth (1–10)"] == by_case["b"]["order (0–1)"] == ""
    assert by_case["b"]["warmth (1–10)"] == by_case["a"]["layout (0–1)"] == "n/a"


def test_a_response_that_looks_like_a_formula_stays_text_in_a_spreadsheet(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    one = judged(plan, "=1+1", {"warmth": 3.0, "wit": 3.0}, context={"response": '=HYPERLINK("http://x")'})
    [row] = csv.DictReader(
        StringIO(written(draw(lambda: [one], 1), {"tone": plan.rubric}, "csv").removeprefix("\ufeff"))
    )
    assert row["case"] == "'=1+1"
    assert row["response"] == '\'=HYPERLINK("http://x")'


def test_the_sheet_has_the_anchors_of_every_question_and_as_a_page_the_texts(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    drawn = draw(lambda: [judged(plan, "a", {"warmth": 3.0, "wit": 3.0}, context={"response": "<b>Hi</b>"})], 1)
    page, text = (make(drawn, {"tone": plan.rubric}, "r.csv") for make in (sheet_html, sheet_markdown))
    for told in ("Is it kind?", "it feels meant", "it is cold", "7–10", "r.csv"):
        assert told in page
        assert told in text
    assert "&lt;b&gt;Hi&lt;/b&gt;" in page
    assert "<script" not in page


def test_a_run_without_its_rubric_asks_for_it(tmp_path: Path) -> None:
    one = judged(plan_of(tmp_path), "a", {"warmth": 3.0, "wit": 3.0})
    with pytest.raises(RubricaError, match=r"does not hold the rubric tone@1.0.0; name its file with --rubric"):
        written([DrawnEvaluation("x", "", one)], {}, "jsonl")
    other = plan_of(tmp_path, TONE.replace("60", "61")).rubric
    with pytest.raises(RubricaError, match=r"another text of tone@1.0.0"):
        written([DrawnEvaluation("x", "", one)], {"tone": other}, "jsonl")


# --- reading back -----------------------------------------------------------------------------------------


def test_records_that_cannot_be_used_are_told_one_by_one_and_the_rest_is_kept(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    one = judged(plan, "a", {"warmth": 3.0, "wit": 3.0})
    item = item_of(one)
    lines = [
        '{"item": "' + item + '", "reviewer": "ann", "scores": {"warmth": 4, "wit": null}, "note": "fine"}',
        "{oops",
        '{"item": "nowhere", "scores": {"warmth": 4}}',
        '{"item": "' + item + '", "reviewer": "bob", "scores": {"warmth": 11, "wit": 2}}',
        '{"item": "' + item + '", "reviewer": "cleo", "scores": {"warmht": 5}}',
        '{"case": "a", "reviewer": "dan", "scores": {"wit": "7,5"}}',
        '{"item": "' + item + '", "reviewer": "eve", "scores": {"wit": true}}',
        '{"item": "' + item + '", "scores": {"warmth": null}}',
        '{"item": "' + item + '", "reviewer": "ann", "scores": {"warmth": 6}}',
        '{"item": "' + item + '"}',
    ]
    file = tmp_path / "review.jsonl"
    file.write_text("\n".join(lines))
    found = read_reviews(read_filled(file), [one], {"tone": plan.rubric})
    told = {record.line: record.reason for record in found.bad}
    assert told.keys() == {2, 3, 4, 5, 7, 10}
    assert "the run has no item nowhere" in told[3]
    assert told[4] == "warmth: 11 is not a number on its scale 1–10"
    assert told[5] == "nothing asks for 'warmht'; did you mean 'warmth'?"
    assert {opinion.reviewer: dict(opinion.scores) for opinion in found.opinions.values()} == {
        "ann": {"warmth": 6.0},
        "bob": {"wit": 2.0},
        "dan": {"wit": 7.5},
    }
    assert (found.empty, found.replaced) == (1, 1)


def test_headings_and_scores_are_read_as_people_write_them(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    one = judged(plan, "a", {"warmth": 3.0, "wit": 3.0})
    found = read_reviews(
        [
            fill(one, "ann", WARMTH="8/10", wit="7,5 / 10"),
            fill(one, "bob", 2, Warmth="4/5", wit=6),
            fill(one, "Bob", 2, wit=7),
            fill(one, "cleo", 3, warmth=4, Warmth=5),
        ],
        [one],
        {"tone": plan.rubric},
    )
    assert [dict(opinion.scores) for opinion in found.opinions.values()] == [
        {"warmth": 8.0, "wit": 7.5},
        {"wit": 7.0},
        {"warmth": 4.0},
    ]
    assert (found.reviewers, found.replaced) == (["ann", "bob", "cleo"], 1)
    assert [record.reason for record in found.bad] == [
        "warmth: '4/5' is not a number on its scale 1–10",
        "warmth has several columns",
    ]


def test_one_file_read_twice_is_seen(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    some = many(plan, 6)
    given = [fill(one, who, warmth=number + 1) for number, one in enumerate(some) for who in ("ann", "ann (1)")]
    found = read_reviews([*given, *(fill(one, "bob", warmth=4) for one in some)], some, {"tone": plan.rubric})
    assert found.doubles == [("ann", "ann (1)")]


@pytest.mark.parametrize(("separator", "start"), [(",", "\ufeff"), (";", ""), ("\t", "\ufeff")])
def test_a_table_is_read_as_spreadsheets_save_it(tmp_path: Path, separator: str, start: str) -> None:
    plan = plan_of(tmp_path)
    some = [
        judged(plan, f"c{n}", {"warmth": 3.0, "wit": 3.0}, context={"response": "two\nlines; a, b " * 20_000})
        for n in range(3)
    ]
    text = written(draw(lambda: some, 1), {"tone": plan.rubric}, "csv").removeprefix("\ufeff")
    short = csv.field_size_limit(10**6)
    rows = list(csv.DictReader(StringIO(text)))
    csv.field_size_limit(short)
    for row in rows:
        row |= {"warmth (1–10)": "6.5" if separator == "," else "6,5", "wit (1–10)": " ", "note": "ok"}
    file = tmp_path / "ann.csv"
    with file.open("w", newline="") as out:
        out.write(start)
        sheet = csv.DictWriter(out, list(rows[0]), delimiter=separator)
        sheet.writeheader()
        sheet.writerows(rows)
        out.write(separator * 10 + "\r\n")
    found = read_reviews(read_filled(file), some, {"tone": plan.rubric})
    assert found.bad == []
    assert [(one.reviewer, one.scores, one.note) for one in found.opinions.values()] == [
        ("ann", {"warmth": 6.5}, "ok")
    ] * 3


def test_a_table_of_something_else_is_told(tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("name,price\nbread,3\n")
    assert [type(one) for one in read_filled(file)] == [BadRecord]


# --- agreement and labels ---------------------------------------------------------------------------------


def test_agreement_of_judge_and_people_by_hand(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    some = [judged(plan, f"c{n}", {"warmth": float(n), "wit": 5.0}) for n in (2, 4, 6, 8)]
    filled = [fill(one, "ann", warmth=n - 1) for one, n in zip(some, (2, 4, 6, 8), strict=True)]
    filled += [fill(some[0], "bob", warmth=2), fill(some[3], "bob", warmth=4, wit=9)]
    found = agreements(read_reviews(filled, some, {"tone": plan.rubric}), {"tone": plan.rubric})
    warmth, wit = found
    assert (warmth.question.name, warmth.count, warmth.pairs, warmth.step) == ("warmth", 4, 2, 1.0)
    assert warmth.difference == pytest.approx((0.5 + 1 + 1 + 2.5) / 4)
    assert warmth.exact == pytest.approx(1 / 6)
    assert warmth.near == pytest.approx(5 / 6)
    assert warmth.alpha.value is not None
    assert 0.5 < warmth.alpha.value < 1
    assert warmth.people.units == 2
    assert (wit.count, wit.pairs, wit.difference) == (1, 0, -4)
    assert wit.people.value is None


def test_the_verdict_of_people_is_what_their_scores_come_to_under_the_same_rubric(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    some = [judged(plan, f"c{n}", {"warmth": 8.0, "wit": 8.0}) for n in range(3)]
    filled = [fill(some[0], "ann", warmth=7, wit=7), fill(some[1], "ann", warmth=2, wit=3), fill(some[2], "ann", wit=3)]
    found = verdict_agreement(read_reviews(filled, some, {"tone": plan.rubric}), {"tone": plan.rubric})
    assert (found.count, found.same, dict(found.others)) == (2, 1, {("pass", "fail"): 1})


def test_labels_are_what_calibration_reads_with_each_judge_as_it_was_before_correction(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    votes = (
        Vote("a", 8.0, "6 corrected to 8 by calibration 1 of 2026-05-04"),
        Vote("a", 8.0, repeat=1),
        Vote("b", 5.0),
    )
    one = judged(plan, "c", {"warmth": 7.0, "wit": 5.0}, votes={"warmth": votes}, context={"group": "g1"})
    filled = [fill(one, "ann", warmth=5, wit=4), fill(one, "bob", warmth=6)]
    lines = labels(read_reviews(filled, [one], {"tone": plan.rubric}), {"tone": plan.rubric})["tone@1.0.0"]
    scales = {name: plan.rubric.scale_of(name) for name in plan.rubric.dimensions}
    read = read_labels(lines, scales).scores
    assert {(label.dimension, label.judge, label.score, label.human, label.rater) for label in read} == {
        ("warmth", "a", 7.0, 5.0, "ann"),
        ("warmth", "a", 7.0, 6.0, "bob"),
        ("warmth", "b", 5.0, 5.0, "ann"),
        ("warmth", "b", 5.0, 6.0, "bob"),
        ("wit", JUDGE, 5.0, 4.0, "ann"),
    }
    assert {label.group for label in read} == {"g1"}


def test_agreement_is_told_with_and_without_the_harshness_of_people(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    some = [judged(plan, f"c{n}", {"warmth": 3.0 + n % 5, "wit": 5.0}) for n in range(20)]
    filled = [fill(one, "kind", warmth=5 + n % 5) for n, one in enumerate(some)]
    filled += [fill(one, "harsh", warmth=1 + n % 5) for n, one in enumerate(some)]
    [warmth] = agreements(read_reviews(filled, some, {"tone": plan.rubric}), {"tone": plan.rubric})
    assert warmth.raters["harsh"] < -1 < 1 < warmth.raters["kind"]
    assert warmth.people.value is not None
    assert warmth.people_levelled.value is not None
    assert warmth.people_levelled.value > warmth.people.value + 0.5
    assert warmth.plain["raters"].keys() == {"harsh", "kind"}


def test_what_rules_scored_gives_no_labels(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, STYLE)
    one = judged(plan, "c", {"order": 0.5, "layout": 1.0})
    filled = [fill(one, "ann", order=0.2, layout=0.9)]
    [line] = labels(read_reviews(filled, [one], {"style": plan.rubric}), {"style": plan.rubric})["style@1.0.0"]
    assert json.loads(line)["human"] == {"order": 0.2}


# --- the command ------------------------------------------------------------------------------------------


def answer(source: Path, target: Path, reviewer: str, change: Callable[[dict[str, Any]], object] | None = None) -> None:
    records = [json.loads(line) for line in source.read_text().splitlines()]
    for number, record in enumerate(records):
        record["reviewer"] = reviewer
        record["scores"] = dict.fromkeys(record["scores"], number % 9 + 1)
        if change is not None:
            change(record)
    target.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_from_a_sample_to_labels(cli: Cli, tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    run = a_run(tmp_path / "week12", [plan], many(plan, 100))
    review, database = tmp_path / "review.jsonl", tmp_path / "queue.db"
    drawn = cli("sample", run, "--share", "0.3", "-o", review, "--database", database)
    assert drawn.exit_code == 0, drawn.stderr
    count = len(review.read_text().splitlines())
    assert 30 <= count <= 38
    assert f"{count} new items in the review queue" in drawn.stdout
    assert (tmp_path / "review.html").read_text().count('<article class="card" id="item-') == count
    assert cli("sample", run, "-o", review).exit_code == 1  # it may be filled in already
    queued = cli("sample", run, "--share", "0.3", "--database", database)
    assert queued.exit_code == 0, queued.stderr
    assert "0 new items in the review queue" in queued.stdout
    assert f"import --database {database} --run" in " ".join(queued.stdout.split())

    answer(review, tmp_path / "ann.jsonl", "ann")
    answer(review, tmp_path / "bob.jsonl", "bob", lambda record: record["scores"].update(wit=2))
    labelled = tmp_path / "labels.jsonl"
    read = cli("import", tmp_path / "ann.jsonl", tmp_path / "bob.jsonl", "--run", run, "-o", labelled, "--db", database)
    assert read.exit_code == 0, read.stderr
    assert f"{count} evaluations scored by ann, bob" in read.stdout
    assert f"{2 * count} opinions kept in the database" in read.stdout
    printed, name = " ".join(read.stdout.split()), plan.rubric.name
    assert f"calibrate {labelled} -r {name}.yaml" in printed
    assert f"{name}.yaml stands for the file of {name}@" in printed  # nobody said where it is
    scales = {name: plan.rubric.scale_of(name) for name in plan.rubric.dimensions}
    assert len(read_labels(labelled.read_text().splitlines(), scales).scores) == 2 * 2 * count  # people, dimensions

    kept = cli("import", "--run", run, "--database", database, "--json")
    told = json.loads(kept.stdout)
    assert (told["evaluations"], told["opinions"], told["reviewers"]) == (count, 2 * count, ["ann", "bob"])
    assert {one["question"]: one["people_count"] for one in told["questions"]} == {"warmth": count, "wit": count}
    assert [one["scores"]["bias"]["value"] for one in told["questions"]] == pytest.approx(
        [one["difference"] for one in told["questions"]]
    )
    verdicts = told["verdicts"]
    assert (verdicts["count"], sum(own["count"] for own in verdicts["labels"].values())) == (count, count)
    assert "macro F1" in read.stdout


def test_the_way_back_from_a_sample_names_the_rubric_that_the_run_does_not_hold(cli: Cli, tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    stored = a_run(tmp_path / "week12", [plan], many(plan, 20)) / "evaluations.jsonl"
    alone = stored.rename(tmp_path / "results.jsonl")
    rubric = tmp_path / "rubric.yaml"
    drawn = cli("sample", alone, "--share", "1", "-o", tmp_path / "review.csv", "-r", rubric)
    assert drawn.exit_code == 0, drawn.stderr
    way_back = "".join(drawn.stdout.split())
    assert f"--run{alone}-r{rubric}-olabels.jsonl" in way_back


def test_broken_records_are_told_and_the_exit_code_says_so(cli: Cli, tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    run = a_run(tmp_path / "week12", [plan], many(plan, 20))
    review = tmp_path / "review.jsonl"
    cli("sample", run, "--share", "1", "-o", review)
    answer(review, tmp_path / "ann.jsonl", "ann", lambda record: record["scores"].update(wit=99))
    read = cli("import", tmp_path / "ann.jsonl", "--run", run)
    assert read.exit_code == 1
    assert "ann.jsonl:1: wit: 99 is not a number on its scale 1–10" in read.stderr
    assert "20 evaluations scored by ann" in read.stdout
    assert "on its scale 1–10 (19 more lines like it)" in read.stderr
    assert len(read.stderr.strip().splitlines()) == 1


def test_a_review_that_nobody_filled_in_is_an_error(cli: Cli, tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    run = a_run(tmp_path / "week12", [plan], many(plan, 20))
    cli("sample", run, "--share", "1", "-o", tmp_path / "review.csv")
    read = cli("import", tmp_path / "review.csv", "--run", run)
    assert "nobody filled anything in: 20 records without a score" in str(read.exception)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("sample", "RUN", "-o", "review.txt"), "ends in .jsonl or .csv"),
        (("sample", "RUN", "-o", "review.csv", "--sheet", "x.pdf"), "ends in .html or .md"),
        (("sample", "RUN"), "name a file to fill in, or a database"),
        (("sample", "RUN", "--database", "x.db", "--open"), "goes with --output"),
        (("import", "--run", "RUN"), "name the review files"),
    ],
)
def test_what_cannot_be_is_refused(cli: Cli, tmp_path: Path, args: tuple[str, ...], told: str) -> None:
    plan = plan_of(tmp_path)
    run = a_run(tmp_path / "week12", [plan], many(plan, 2))
    result = cli(*(str(run) if arg == "RUN" else arg for arg in args))
    assert result.exit_code == 2
    assert told in result.stderr
