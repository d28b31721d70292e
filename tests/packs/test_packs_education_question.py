"""The education-question pack holds the numbers of its document: score, sections, vetoes, acceptance."""

from __future__ import annotations

import base64
import io
import json
import struct
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFilter

import rubrica

PACK = "education-question"
ACADEMIC = (
    "correctness",
    "grade_alignment",
    "difficulty_alignment",
    "language_quality",
    "pedagogical_value",
    "explanation_quality",
    "instruction_adherence",
    "format_compliance",
    "query_relevance",
)
TEN = (*ACADEMIC, "di_compliance")
QUESTION = (
    "correctness",
    "grade_alignment",
    "difficulty_alignment",
    "language_quality",
    "instruction_adherence",
    "format_compliance",
    "query_relevance",
)
BOUNDED = ("correctness", "format_compliance", "query_relevance", "di_compliance")
WITHOUT_A_BOUND = [name for name in TEN if name not in BOUNDED]
SCAFFOLDING = ("pedagogical_value", "explanation_quality", "di_compliance")
REQUEST = "Place value: a multiple-choice question on the value of a digit, medium."


def question(**changed: Any) -> str:
    """A sound question as JSON text, with some of its fields changed; None takes a field out."""
    fields = {
        "type": "mcq",
        "difficulty": "medium",
        "question": "In the number 4,726, what is the value of the digit 7?",
        "options": ["A) 7", "B) 70", "C) 700", "D) 7,000"],
        "answer": "C",
        "explanation": "First, find the place of the digit 7: it is the third from the right. Next, name that place: "
        "it is the hundreds place. So the 7 stands for seven hundreds, because each place is worth ten times the "
        "place to its right.",
        **changed,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def judged(response: str, prompt: str = REQUEST, **context: Any) -> rubrica.Evaluation:
    return rubrica.evaluate(PACK, prompt=prompt, response=response, context={"grade": 4, **context})


def by_points(response: str, prompt: str = REQUEST, **context: Any) -> rubrica.Evaluation:
    """As the offline values alone decide."""
    rubric = rubrica.load(PACK).with_offline("point")
    return rubrica.evaluate(rubric, prompt=prompt, response=response, context={"grade": 4, **context})


def marks(level: float = 8.0, **changed: float) -> dict[str, float]:
    return {**dict.fromkeys(TEN, level), **changed}


def fired(evaluation: rubrica.Evaluation) -> list[str]:
    return [gate.name for gate in evaluation.gates if gate.fired]


# --- the score and the sections -------------------------------------------------------------------


def test_the_documents_sample_record_scores_as_its_formulas_say() -> None:
    sample = {
        "correctness": 9.5,
        "grade_alignment": 9.0,
        "difficulty_alignment": 8.0,
        "language_quality": 9.2,
        "pedagogical_value": 7.8,
        "explanation_quality": 7.5,
        "instruction_adherence": 8.8,
        "format_compliance": 9.5,
        "di_compliance": 8.2,
        "query_relevance": 9.0,
    }
    result = rubrica.decide(PACK, sample)
    assert result.score == pytest.approx(0.8575)  # 0.75 × 8.7 + 0.25 × 8.2, of 10
    assert result.sections["question"].score == pytest.approx(0.90)  # 63 / 7, of 10
    assert result.sections["scaffolding"].score == pytest.approx(0.783, abs=0.0005)  # 23.5 / 3, of 10
    assert (result.verdict, result.band) == ("accept", "good")


@given(st.fixed_dictionaries({name: st.integers(0, 100).map(lambda n: n / 10) for name in TEN}))
def test_three_quarters_are_academic_and_one_quarter_is_direct_instruction(scores: dict[str, float]) -> None:
    result = rubrica.decide(PACK, scores)
    academic = sum(scores[name] for name in ACADEMIC) / 9
    assert result.score == pytest.approx((0.75 * academic + 0.25 * scores["di_compliance"]) / 10)
    for section, members in (("question", QUESTION), ("scaffolding", SCAFFOLDING)):
        mean = sum(scores[name] for name in members) / len(members)
        assert result.sections[section].score == pytest.approx(mean / 10)


def test_parts_of_direct_instruction_weigh_forty_thirty_five_and_twenty_five() -> None:
    parts = {"general_principles": 10, "format_alignment": 6, "grade_language": 4}
    result = rubrica.decide(PACK, {**dict.fromkeys(ACADEMIC, 8), "di_compliance": parts})
    assert result.dimensions["di_compliance"].value == pytest.approx(7.1)  # 4 + 2.1 + 1


@pytest.mark.parametrize(
    ("level", "band"),
    [(10, "excellent"), (9, "excellent"), (8.99, "good"), (7, "good"), (6.99, "acceptable"), (5, "acceptable"),
     (4.99, "poor"), (3, "poor"), (2.99, "unacceptable"), (0, "unacceptable")],
)  # fmt: skip
def test_bands_include_their_lower_end(level: float, band: str) -> None:
    assert rubrica.decide(PACK, marks(level)).band == band


@pytest.mark.parametrize(
    ("level", "verdict"), [(10, "accept"), (7, "accept"), (6.9, "revise"), (4, "revise"), (3.9, "reject")]
)
def test_sections_have_their_own_verdicts(level: float, verdict: str) -> None:
    sections = rubrica.decide(PACK, marks(level)).sections
    assert (sections["question"].verdict, sections["scaffolding"].verdict) == (verdict, verdict)


def test_a_section_is_not_blamed_for_the_other() -> None:
    sections = rubrica.decide(PACK, marks(9, di_compliance=2)).sections
    assert (sections["question"].verdict, sections["scaffolding"].verdict) == ("accept", "reject")
    sections = rubrica.decide(PACK, marks(9, query_relevance=3.9)).sections
    assert (sections["question"].verdict, sections["scaffolding"].verdict) == ("reject", "accept")


# --- reject, accept, revise -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dimension", "bound", "gate"),
    [
        ("query_relevance", 4.0, "off-topic"),
        ("correctness", 4.0, "incorrect"),
        ("format_compliance", 4.0, "unusable-format"),
        ("di_compliance", 3.0, "against-direct-instruction"),
    ],
)
def test_a_veto_rejects_below_its_bound_whatever_the_other_scores(dimension: str, bound: float, gate: str) -> None:
    below = rubrica.decide(PACK, marks(10, **{dimension: bound - 0.01}))
    assert (below.verdict, fired(below)) == ("reject", [gate])
    at = rubrica.decide(PACK, marks(10, **{dimension: bound}))
    assert (at.verdict, fired(at)) == ("revise", [])


@pytest.mark.parametrize(
    ("dimension", "bound"),
    [("correctness", 6.0), ("format_compliance", 6.0), ("di_compliance", 7.0), ("query_relevance", 7.0)],
)
def test_acceptance_needs_each_bound_and_equality_is_enough(dimension: str, bound: float) -> None:
    assert rubrica.decide(PACK, marks(9, **{dimension: bound})).verdict == "accept"
    assert rubrica.decide(PACK, marks(9, **{dimension: bound - 0.01})).verdict == "revise"


def test_acceptance_needs_a_score_of_seven_tenths_and_equality_is_enough() -> None:
    assert rubrica.decide(PACK, marks(7)).verdict == "accept"
    assert rubrica.decide(PACK, marks(7, language_quality=6.9)).verdict == "revise"


@pytest.mark.parametrize("dimension", WITHOUT_A_BOUND)
def test_the_other_dimensions_never_reject_alone(dimension: str) -> None:
    assert rubrica.decide(PACK, marks(9, **{dimension: 0})).verdict == "accept"


def test_topic_drift_alone_is_revised() -> None:
    result = by_points(question(), "Ratio and proportion: scale a recipe, medium, multiple choice")
    assert 4 <= (result.dimensions["query_relevance"].value or 0) < 7
    assert result.verdict == "revise"


# --- checks before scoring ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "gate"),
    [
        ({"answer": "E"}, "answer-letter-unmapped"),
        ({"answer": "7 hundred thousand"}, "key-not-an-option"),
        ({"options": ["A) 7", "B) 700.0", "C) 700", "D) 7,000"]}, "key-duplicated"),
        ({"explanation": "The seven is in the hundreds place, so the answer is B."}, "key-contradicted"),
        ({"explanation": "First, 7 × 100 = 700. Next, 4,726 - 700 = 4,026. So the rest is 4,026."}, "key-unreached"),
        ({"explanation": "The seven stands in the hundreds place: 7 × 10 = 700."}, "key-miscalculated"),
        (
            {"question": "Solve cos(x) = -1/3.", "options": ["A) 60°", "B) 90°", "C) 120°", "D) 150°"],
             "explanation": "The cosine is negative, so the angle is obtuse."},
            "impossible-pattern",
        ),
    ],
)  # fmt: skip
def test_a_key_that_cannot_be_right_rejects_before_anything_is_scored(changed: dict[str, Any], gate: str) -> None:
    result = judged(question(**changed))
    assert (result.verdict, fired(result)[:1]) == ("reject", [gate])
    assert {result.dimensions[name].status for name in TEN} == {"not_needed"}


def test_a_key_that_cannot_be_right_rejects_perfect_scores_too() -> None:
    result = rubrica.decide(PACK, marks(10), context={"response": question(answer="E")})
    assert (result.verdict, fired(result)) == ("reject", ["answer-letter-unmapped"])


def test_a_failed_pre_check_can_wait_for_the_judge_and_rejects_all_the_same() -> None:
    rubric = rubrica.load(PACK)
    assert rubric.settings["precheck_rejects"] is True
    patient = rubric.with_settings(precheck_rejects=False)
    result = rubrica.evaluate(patient, prompt=REQUEST, response=question(answer="E"), context={"grade": 4})
    assert (result.verdict, fired(result)) == ("reject", ["answer-letter-unmapped"])
    assert result.dimensions["language_quality"].status == "scored"


@pytest.mark.parametrize(
    "changed",
    [
        {"options": ["A) 7", "B) 70", "C) 700"]},
        {"options": ["A) 7", "B) 70", "C) 700", "D) 70"]},
        {"answer": None},
        {"explanation": "First, 7 × 100 = 800. Next, the digit is in the hundreds place."},
    ],
)
def test_faults_that_an_editor_can_mend_reject_where_the_setting_says_so(changed: dict[str, Any]) -> None:
    strict = rubrica.load(PACK).with_settings(faults_reject=True)
    response = {"response": question(**changed)}
    assert rubrica.decide(PACK, marks(10), response).verdict == "revise"
    assert rubrica.decide(strict, marks(10), response).verdict == "reject"
    assert rubrica.decide(strict, marks(10), {"response": question()}).verdict == "accept"


# --- critical issues ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "gate"),
    [
        ({"options": ["A) 7", "B) 70", "C) 700"]}, "wrong-option-count"),
        ({"options": ["A) 7", "B) 70", "C) 700", "D) 7,000", "E) 70,000"]}, "wrong-option-count"),
        ({"options": ["A) 7", "B) 70", "C) 700", "D) 70"]}, "duplicate-options"),
        ({"options": ["A) 7", "B) 70", "C) 700", "D) "]}, "empty-option"),
        ({"answer": None}, "no-answer-key"),
        ({"explanation": "First, 7 × 100 = 800. Next, the digit is in the hundreds place."}, "wrong-equation"),
    ],
)
def test_a_critical_issue_keeps_a_perfect_question_from_being_accepted(changed: dict[str, Any], gate: str) -> None:
    result = rubrica.decide(PACK, marks(10), context={"response": question(**changed)})
    assert (result.verdict, fired(result)) == ("revise", [gate])
    assert rubrica.decide(PACK, marks(10), context={"response": question()}).verdict == "accept"


@pytest.mark.parametrize(("reported", "verdict"), [(0, "accept"), (1, "revise"), (3, "revise")])
def test_reported_critical_issues_keep_a_question_from_being_accepted(reported: int, verdict: str) -> None:
    assert rubrica.decide(PACK, marks(10), {"custom_metrics": {"critical_issues": reported}}).verdict == verdict


def test_a_section_with_a_critical_issue_is_not_accepted() -> None:
    three = {"response": question(options=["A) 7", "B) 70", "C) 700"])}
    sections = rubrica.decide(PACK, marks(10), three).sections
    assert (sections["question"].verdict, sections["scaffolding"].verdict) == ("revise", "accept")


def test_a_veto_wins_over_a_critical_issue() -> None:
    context = {"custom_metrics": {"critical_issues": 1}}
    assert rubrica.decide(PACK, marks(10, correctness=3), context).verdict == "reject"


def test_the_number_of_options_is_a_setting() -> None:
    five = {"response": question(options=["A) 7", "B) 70", "C) 700", "D) 7,000", "E) 70,000"])}
    rubric = rubrica.load(PACK)
    assert rubric.settings["option_count"] == 4
    assert rubrica.decide(rubric.with_settings(option_count=5), marks(10), five).verdict == "accept"
    assert rubrica.decide(rubric, marks(10), five).verdict == "revise"


def test_a_missing_option_lowers_the_format_and_does_not_reject() -> None:
    whole, short = by_points(question()), by_points(question(options=["A) 7", "B) 70", "C) 700"]))
    assert short.dimensions["format_compliance"].value == (whole.dimensions["format_compliance"].value or 0) - 3
    assert (whole.verdict, short.verdict) == ("accept", "revise")


def test_duplicate_options_are_shown() -> None:
    result = judged(question(options=["A) 7", "B) 70", "C) 700", "D) 70"]))
    gate = next(gate for gate in result.gates if gate.name == "duplicate-options")
    assert [span.text for span in gate.spans] == ["70"]


# --- what is missing ------------------------------------------------------------------------------


def test_a_missing_score_leaves_the_verdict_open() -> None:
    result = rubrica.decide(PACK, {name: 9 for name in TEN if name != "correctness"})
    assert (result.verdict, result.score) == ("inconclusive", None)
    assert "correctness" in result.reason


def test_a_missing_score_is_no_obstacle_where_the_verdict_stands_anyway() -> None:
    scores = {name: 9.0 for name in TEN if name != "language_quality"}
    assert rubrica.decide(PACK, {**scores, "query_relevance": 2}).verdict == "reject"
    assert rubrica.decide(PACK, scores).verdict == "accept"  # even a 0 for language leaves more than 0.7


def test_without_a_grade_its_alignment_does_not_apply() -> None:
    result = rubrica.evaluate(rubrica.load(PACK).with_offline("point"), prompt=REQUEST, response=question())
    assert result.dimensions["grade_alignment"].status == "not_applicable"
    assert (result.verdict, result.errors) == ("accept", ())


def test_without_a_request_its_relevance_has_no_score() -> None:
    result = judged(question(), prompt="")
    assert result.dimensions["query_relevance"].status == "unscored"
    assert result.verdict == "inconclusive"


# --- the image section ----------------------------------------------------------------------------


def test_without_a_picture_the_image_section_does_not_apply() -> None:
    section = judged(question()).sections["image"]
    assert (section.score, section.verdict, section.reason) == (None, None, "does not apply")


def picture(side: int = 200, ink: str = "black", blur: float = 0.0) -> str:
    """A bar chart as a data: URL."""
    image = Image.new("RGB", (side, side), "white")
    draw = ImageDraw.Draw(image)
    for bar in range(4):
        draw.rectangle((bar * side // 4 + 4, side // (bar + 2), (bar + 1) * side // 4 - 4, side - 4), fill=ink)
    file = io.BytesIO()
    image.filter(ImageFilter.GaussianBlur(blur)).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


ALT = "Place-value chart of 4,726"
LOOK = "Look at the chart. Which digit is tallest?"


@pytest.mark.parametrize(
    ("text", "alt", "score", "verdict"),
    [
        (LOOK, ALT, 1.0, "accept"),
        ("Which digit is worth most?", ALT, 0.85, "accept"),
        (LOOK, "", 0.8, "accept"),
        ("Which digit is worth most?", "", 0.65, "revise"),
    ],
)
def test_a_picture_is_checked_for_description_and_mention(text: str, alt: str, score: float, verdict: str) -> None:
    section = by_points(question(question=text), images=[{"url": picture(), "alt": alt}]).sections["image"]
    assert (section.score, section.verdict) == (pytest.approx(score), verdict)  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    "bad",
    [{"ink": "white"}, {"ink": "#f8f8f8"}, {"blur": 12.0}, {"side": 40}],
    ids=["blank", "faint", "blurred", "tiny"],
)
def test_a_picture_that_cannot_be_read_by_eye_is_rejected(bad: dict[str, Any]) -> None:
    result = judged(question(question=LOOK), images=[{"url": picture(**bad), "alt": ALT}])
    assert (result.dimensions["image_clarity"].value or 0) < 4
    assert result.sections["image"].verdict == "reject"


def test_a_broken_picture_is_rejected_and_a_bomb_is_not_decoded() -> None:
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 60_000, 60_000, 8, 2, 0, 0, 0)
    for data in (b"no picture", header):
        url = "data:image/png;base64," + base64.b64encode(data).decode()
        result = judged(question(question=LOOK), images=[{"url": url, "alt": ALT}])
        assert (result.dimensions["image_clarity"].value, result.sections["image"].verdict) == (0, "reject")


def test_a_picture_written_into_the_question_is_looked_at() -> None:
    result = judged(question(question=LOOK, image={"url": picture(), "alt": ALT}))
    assert result.dimensions["image_clarity"].value == 10
    assert result.sections["image"].score == pytest.approx(1.0)


@pytest.mark.parametrize("fields", [{"image": "chart.png"}, {"image_url": "https://example.org/chart.png"}])
def test_a_picture_that_is_only_named_is_not_fetched_and_says_so(fields: dict[str, str]) -> None:
    plain = judged(question(question=LOOK, **fields))
    described = judged(question(question=LOOK, alt_text="Chart of 4,726", **fields))
    assert plain.dimensions["image_clarity"].status == "not_applicable"
    assert "image_linked" in plain.dimensions["image_clarity"].reason
    scores = (plain.sections["image"].score, described.sections["image"].score)
    assert scores == (pytest.approx(0.6), pytest.approx(1))  # type: ignore[comparison-overlap]


def test_a_file_that_is_not_there_has_no_score_and_says_so() -> None:
    result = judged(question(question=LOOK), images=[{"url": "nowhere/chart.png", "alt": ALT}])
    clarity = result.dimensions["image_clarity"]
    assert (clarity.status, result.sections["image"].score) == ("unscored", None)
    assert "no picture 'chart.png' here" in clarity.reason
    assert result.verdict == "inconclusive"  # nobody has seen what the question is about


def test_without_the_image_library_clarity_has_no_score_and_names_the_extra() -> None:
    code = f"""
import sys
sys.modules["PIL"] = None
import rubrica
result = rubrica.evaluate({PACK!r}, prompt="A chart of digits", response={question(question=LOOK)!r},
                          context={{"images": [{{"url": {picture()!r}, "alt": "A chart"}}]}})
print(result.dimensions["image_clarity"].status, result.dimensions["image_clarity"].reason)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.startswith("unscored")
    assert "pip install 'rubrica[images]'" in told


def test_a_picture_has_no_part_in_the_overall_score() -> None:
    without, bad = rubrica.decide(PACK, marks(9)), rubrica.decide(PACK, marks(9, image_quality=0))
    assert (without.score, without.verdict) == (bad.score, bad.verdict) == (0.9, "accept")


# --- without a model ------------------------------------------------------------------------------


def test_without_a_model_a_question_is_left_open_and_says_how_it_was_scored() -> None:
    result = judged(question())
    assert (result.verdict, result.offline) == ("inconclusive", True)
    assert "offline scores are only known within bounds" in result.reason
    assert all(result.dimensions[name].confidence <= 0.5 for name in TEN)
    assert by_points(question()).verdict == "accept"


def test_without_a_model_a_false_key_that_only_a_reader_can_tell_is_not_accepted() -> None:
    false = question(
        question="Which city is the capital of Australia?",
        options=["A) Canberra", "B) Perth", "C) Sydney", "D) Darwin"],
        explanation="First, think of the largest city. Next, recall that the government sits there. So it is Sydney.",
    )
    assert judged(false, "Capital cities, multiple choice, medium").verdict == "inconclusive"


def test_what_can_be_worked_out_is_known_to_be_right() -> None:
    result = judged(question(question="What is 7 × 100?", explanation="First, 7 × 100 = 700. So the answer is 700."))
    assert result.dimensions["correctness"].bounds == (6, 10)


def test_without_a_model_a_bare_answer_is_no_explanation() -> None:
    result = by_points(question(explanation="It is the hundreds place."))
    assert (result.dimensions["explanation_quality"].value or 0) <= 4
    assert result.sections["scaffolding"].verdict == "revise"
    assert result.verdict == "revise"


def test_without_a_model_leakage_is_flagged_with_its_words() -> None:
    result = judged(question(explanation="First, find the 7. Next, count places: so the digit is worth 700 here."))
    hit = next(hit for hit in result.dimensions["explanation_quality"].hits if "leakage" in hit.reason)
    assert (hit.points, [span.text for span in hit.spans]) == (-1, ["700"])


def test_without_a_model_words_beyond_the_grade_lower_the_alignment() -> None:
    dense = question(
        question="Which characterisation appropriately represents the constitutional significance of jurisdiction?",
        explanation="Distinguish constitutional significance: jurisdictional disagreements require interpretation, "
        "because legislative authority determines institutional responsibility throughout administrative procedures.",
    )
    young, old = judged(dense, grade=2), judged(dense, grade=12)
    assert (young.dimensions["grade_alignment"].value or 0) < (old.dimensions["grade_alignment"].value or 0)
    assert (judged(question(), grade=2).dimensions["grade_alignment"].value or 0) == 9


def test_without_a_model_an_undeclared_difficulty_scores_low() -> None:
    result = judged(question(difficulty=None), "Place value: a question on the value of a digit.")
    assert result.dimensions["difficulty_alignment"].value == 2


def test_without_a_model_another_difficulty_than_asked_for_is_noticed() -> None:
    assert judged(question(difficulty="hard")).dimensions["difficulty_alignment"].value == 4


def test_without_a_model_a_picture_that_is_not_there_is_a_fault_of_form() -> None:
    result = judged(question(question="What is the value of the 7 in the number shown in the picture below?"))
    assert result.dimensions["format_compliance"].value == 6


@pytest.mark.parametrize("response", ["", "Decimals are fun, and we meet them every day.", "[]", "{}"])
def test_a_response_that_is_no_question_is_rejected(response: str) -> None:
    result = judged(response, "Write a multiple-choice question about decimals.")
    assert (result.verdict, result.errors) == ("reject", ())


def test_a_question_in_plain_text_is_read_too() -> None:
    text = (
        "What is the value of the digit 7 in 4,726?\nA) 7\nB) 70\nC) 700\nD) 7,000\nAnswer: F\n"
        "Explanation: First, find the place. Next, name it."
    )
    assert fired(judged(text)) == ["answer-letter-unmapped"]


def grade_gates(stem: str, grade: int) -> set[str]:
    """The gates about the grade that a question fires."""
    text = question(question=stem, options=None, answer="see the explanation", type="open")
    evaluation = rubrica.evaluate(PACK, prompt=REQUEST, response=text, context={"grade": grade})
    return {gate.name for gate in evaluation.gates if gate.fired} & {"far-above-grade", "another-grade"}


def test_mathematics_far_above_the_grade_is_rejected_and_near_it_is_not() -> None:
    derivative = "What is the derivative of f(x) = x^2 + 3x?"
    assert "far-above-grade" in grade_gates(derivative, 2)
    assert grade_gates(derivative, 12) == set()
    assert grade_gates("What is 7 × 8?", 3) == set()
    assert grade_gates("What is 7 × 8?", 11) == {"another-grade"}  # too easy: an editor decides
    assert grade_gates("Who wrote this sonnet?", 2) == set()  # no maths question, so no estimate and no veto


@pytest.mark.parametrize("stem", [LOOK, "![A chart](chart.png) What is the value of the digit 7?"])
def test_a_question_about_a_picture_that_is_missing_is_never_accepted(stem: str) -> None:
    result = by_points(question(question=stem))
    assert "picture-missing" in {gate.name for gate in result.gates if gate.fired}
    assert result.verdict == "revise"
    assert judged(question(question=stem)).verdict == "inconclusive"  # revise or reject: which, a judge can tell


def test_a_blank_or_broken_picture_is_never_accepted() -> None:
    blank = io.BytesIO()
    Image.new("RGB", (400, 300), "white").save(blank, "PNG")
    for data in (blank.getvalue(), b"no picture at all"):
        url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
        result = by_points(question(question=LOOK), images=[{"url": url, "alt": ALT}])
        assert "picture-unusable" in {gate.name for gate in result.gates if gate.fired}
        assert result.verdict == "revise"
    assert by_points(question(question=LOOK), images=[{"url": picture(), "alt": ALT}]).verdict == "accept"


@pytest.mark.parametrize(
    ("fields", "gate", "verdict"),
    [
        ({"type": "fill-in", "question": "Six groups of seven are ____.", "answer": "48"}, "answer-mismatch", "reject"),
        (
            {"type": "true-false", "question": "True or false: 6 × 7 = 42", "answer": "False"},
            "answer-mismatch",
            "reject",
        ),
        ({"type": "numeric", "question": "What is 6 × 7?", "answer": "forty or so"}, "malformed-answer", ""),
    ],
)
def test_an_answer_without_options_is_checked_too(fields: dict[str, str], gate: str, verdict: str) -> None:
    explanation = "First, think of six sevens. Then add them up, because that is what times means: 6 × 7 = 42."
    result = judged(question(**{**fields, "options": None, "explanation": explanation}))
    assert gate in {each.name for each in result.gates if each.fired}
    assert result.verdict == verdict if verdict else result.verdict != "accept"
