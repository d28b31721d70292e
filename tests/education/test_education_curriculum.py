"""Curricula are read from JSON lines and CSV; existing questions in any usual shape, or refused one by one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from education_samples import question
from rubrica.education.curriculum import Skill, bundled_curriculum, number_skills, read_curriculum, select_skills
from rubrica.education.records import QuestionRecord, RefusedRecord, read_records
from rubrica.errors import RubricaError


def test_the_bundled_curriculum_covers_grades_three_to_eight() -> None:
    skills = bundled_curriculum()
    per_grade = Counter(skill.grade for skill in skills if skill.subject == "mathematics")
    assert sorted(per_grade) == [3, 4, 5, 6, 7, 8]
    assert min(per_grade.values()) >= 10
    assert {skill.subject for skill in skills} == {"mathematics", "science", "language arts"}
    assert len({skill.substandard_id for skill in skills}) == len({skill.key for skill in skills}) == len(skills)
    assert all(skill.description and skill.unit_name for skill in skills)


def test_a_csv_with_other_names_is_read(tmp_path: Path) -> None:
    file = tmp_path / "skills.csv"
    file.write_text("\ufeffgrade;code;title;unit;description\nGrade 3;X.1;Halves;Fractions;Cut; \n", "utf-8")
    with pytest.raises(RubricaError, match="6 cells under 5 names"):
        read_curriculum(file)
    file.write_text(
        '\ufeffgrade,code,title,unit,description\nK,X.0,Counting,Numbers,"To ten, and back"\n4th,X.4,Angles,,\n',
        "utf-8",
    )
    assert read_curriculum(file) == (
        Skill(0, "X.0", "Counting", "Numbers", "To ten, and back", index=1),
        Skill(4, "X.4", "Angles", index=1),
    )


def test_rows_that_cannot_be_used_refuse_the_file_with_every_line(tmp_path: Path) -> None:
    file = tmp_path / "skills.jsonl"
    file.write_text(
        '{"grade": 3, "title": "Halves"}\n{"title": "No grade"}\nnonsense\n{"grade": 99, "title": "x"}\n{"grade": 3}\n'
    )
    with pytest.raises(RubricaError) as caught:
        read_curriculum(file)
    told = str(caught.value).splitlines()
    assert [line.split(":")[1] for line in told] == ["2", "3", "4", "5"]
    file.write_text("\n")
    with pytest.raises(RubricaError, match="has no skills"):
        read_curriculum(file)


def test_skills_are_numbered_within_their_grade_and_count_once() -> None:
    twice = number_skills([Skill(3, "a", "A"), Skill(4, "b", "B"), Skill(3, "c", "C"), Skill(3, "a", "A")])
    assert [(skill.grade, skill.index, skill.substandard_id) for skill in twice] == [
        (3, 1, "a"),
        (4, 1, "b"),
        (3, 2, "c"),
    ]
    assert [skill.substandard_id for skill in select_skills(twice, [3, 4], most=1)] == ["a", "b"]
    with pytest.raises(RubricaError, match="no grade 9; it has 3, 4"):
        select_skills(twice, [9])


def test_a_skill_becomes_the_request_it_is_written_and_judged_by() -> None:
    request = Skill(3, "a", "Equal groups", description="Write a product for equal groups.").request(2)
    assert request.words == "Equal groups: a multiple-choice question, medium."
    assert (request.count, request.skill) == (2, "Write a product for equal groups.")


def records(
    tmp_path: Path, *rows: Any, name: str = "questions.jsonl", grade: int | None = None
) -> list[QuestionRecord | RefusedRecord]:
    file = tmp_path / name
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return list(read_records(file, grade))


def test_records_of_many_shapes_are_read(tmp_path: Path) -> None:
    shapes = [
        question(),
        {"stem": "2 + 2?", "choices": {"A": "3", "B": "4"}, "correct_answer": "B", "grade": "2"},
        {"question": "2 + 2?", "options": [{"text": "3"}, {"text": "4"}], "answer": "4", "rationale": "Count on."},
        {"question": {"question": "2 + 2?", "answer": "4"}, "grade": 5, "request": {"subject": "mathematics"}},
        {"question": "\\frac{1}{2} + \\frac{1}{2} = ?", "answer": 1},
        {"question": "¿Cuánto es 2 + 2?", "options": [], "answer": "4", "language": "spanish", "type": "mcq"},
    ]
    found = records(tmp_path, *shapes, grade=3)
    assert all(isinstance(item, QuestionRecord) for item in found)
    assert [item.grade for item in found] == [3, 2, 3, 5, 3, 3]
    assert [item.question.answer for item in found if isinstance(item, QuestionRecord)] == ["C", "B", "4", "4", 1, "4"]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("{oops", "not JSON"),
        ("[1]", "a JSON object is wanted"),
        ({"options": ["a"]}, "it has no text"),
        ({"question": "", "answer": "4"}, "it has no text"),
        ({"question": "2 + 2?", "grade": "banana"}, "no grade"),
        ({"question": "2 + 2?", "options": 7}, "options"),
        ({"question": None}, "it has no text"),
    ],
)
def test_a_record_that_cannot_be_judged_is_refused_and_the_rest_goes_on(tmp_path: Path, row: Any, why: str) -> None:
    first, second = records(tmp_path, row, question())
    assert isinstance(first, RefusedRecord)
    assert why in first.reason
    assert (first.line, isinstance(second, QuestionRecord)) == (1, True)


def test_csv_options_come_as_columns_as_a_list_or_between_bars(tmp_path: Path) -> None:
    by_column = records(tmp_path, "question,option_a,option_b,answer", "2 + 2?,3,4,B", name="a.csv")
    by_letter = records(tmp_path, "question,A,B,answer", "2 + 2?,3,4,B", name="b.csv")
    as_list = records(tmp_path, "question,options,answer", '2 + 2?,"[""A) 3"", ""B) 4""]",B', name="c.csv")
    by_bars = records(tmp_path, "question\toptions\tanswer", "2 + 2?\t3 | 4\t4", name="d.tsv")
    options = [
        item.question.options
        for (item,) in (by_column, by_letter, as_list, by_bars)
        if isinstance(item, QuestionRecord)
    ]
    assert options == [{"A": "3", "B": "4"}, {"A": "3", "B": "4"}, ["A) 3", "B) 4"], ["3", "4"]]


def test_without_a_topic_nothing_is_asked_for_in_words(tmp_path: Path) -> None:
    (bare,) = records(tmp_path, question())
    (told,) = records(tmp_path, {**question(), "skill": "Equal groups"})
    assert isinstance(bare, QuestionRecord)
    assert isinstance(told, QuestionRecord)
    assert bare.request.words == ""
    assert told.request.words == "Equal groups: a multiple-choice question, medium."
    assert "skill" not in told.question.plain
