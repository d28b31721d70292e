"""Signs that a worked answer does not hang together, and that a sound one gives none of them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rubrica
from rubrica.text import FEATURES, cut_off
from rubrica.text.maths import solution
from rubrica.text.texts import Texts

PROMPT = "A coach seats 48 people and costs 350 euros. How many coaches are needed for 240 people?"
SOUND = "Each coach seats 48 people, so 240 / 48 = 5 coaches are needed; the 350 euros do not matter here."
NAMES = [feature.name for feature in (*solution.FEATURES, *cut_off.FEATURES)]


def value(name: str, response: str, prompt: str = PROMPT) -> float:
    return FEATURES[name].compute(Texts(prompt=prompt, response=response))


@pytest.mark.parametrize(
    "name", ["wrong_step_count", "unused_quantity_count", "lacks_result", "odd_result", "uneven_result", "cut_off"]
)
def test_a_sound_answer_gives_no_sign(name: str) -> None:
    assert value(name, SOUND) == 0


@pytest.mark.parametrize(
    ("response", "steps", "wrong"),
    [
        ("It is 12 + 5 = 17.", 1, 0),
        ("It is 12 + 5 = 18.", 1, 1),
        ("It is 12 + 5 = <<12+5=17>>17 in all.", 1, 0),
        ("It is 12 + 5 = $<<12+5=19>>19 in all.", 1, 1),
        ("In all there are <<12+5=19>>19 of them.", 1, 1),
        ("Then 3 x 4 = <<3*4=12>>12 and 12 - 2 = <<12-2=9>>9.", 2, 1),
        ('cout << "12 + 5 = 18" << endl;', 0, 0),
        ("No sums here.", 0, 0),
    ],
)
def test_steps_are_read_in_both_notations_and_counted_once(response: str, steps: int, wrong: int) -> None:
    assert (value("step_count", response), value("wrong_step_count", response)) == (steps, wrong)


def test_the_evidence_of_a_wrong_step_is_where_it_stands() -> None:
    response = "First 2 + 2 = <<2+2=4>>4. Then 4 * 3 = <<4*3=13>>13."
    evidence = FEATURES["wrong_step_count"].evidence
    assert evidence is not None
    (span,) = evidence(Texts(response=response))
    assert response[span.start : span.end] == "4 * 3 = <<4*3=13>>13"


def test_operations_are_counted_on_the_side_that_calculates() -> None:
    assert value("operation_count", "So 2 * 3 + 4 = 10, and 10 / 5 = <<10/5=2>>2.") == 3
    assert value("operation_count", "So x = 5.") == 0


@pytest.mark.parametrize(
    ("response", "unused"),
    [
        ("240 / 48 = 5 coaches for 350 euros each.", 0),
        ("240 / 48 = 5 coaches.", 1),
        ("250 / 50 = 5 coaches.", 3),
        ("Five coaches.", 0),  # nothing is worked out, so nothing is left out
    ],
)
def test_numbers_that_working_never_takes_up_are_counted(response: str, unused: int) -> None:
    assert value("unused_quantity_count", response) == unused


@pytest.mark.parametrize("used", ["80 * 0.25 = 20", "80 * 25 / 100 = 20", "80 * 0.75 = 60", "80 * 1.25 = 100"])
def test_a_percentage_may_be_used_as_a_share(used: str) -> None:
    assert value("unused_quantity_count", f"That is {used}.", "What are 25% of 80?") == 0


def test_steps_are_missing_where_many_numbers_are_joined_by_few() -> None:
    prompt = "Ann has 12 pens, 5 rulers, 9 rubbers, 3 books and 7 maps. How many things has she?"
    assert value("missing_step_count", "She has 12 + 5 = 17 things.", prompt) == 3
    assert value("missing_step_count", "She has 12 + 5 + 9 + 3 + 7 = 36 things.", prompt) == 0
    assert value("missing_step_count", "She has 36 things.", prompt) == 0


@pytest.mark.parametrize(
    ("prompt", "asks"),
    [
        ("How many moons has Mars?", 1),
        ("What is the total cost of the trip?", 1),
        ("Calculate the mean of 3 and 5", 1),
        ("Combien de pommes reste-t-il ?", 1),
        ("¿Cuántas manzanas quedan?", 1),
        ("还剩多少苹果？", 1),
        ("Who painted the ceiling?", 0),
        ("Explain how magnets work", 0),
    ],
)
def test_questions_for_a_number_are_known(prompt: str, asks: int) -> None:
    assert value("asks_for_number", "", prompt) == asks


@pytest.mark.parametrize(
    ("response", "lacks"),
    [
        ("We divide the people by the seats of a coach. That gives the number of coaches.", 1),
        ("It depends on the driver.", 1),
        ("You need 5 coaches.", 0),
        ("Five coaches are needed.", 0),
        ("One is enough.", 0),
        ("None.", 0),
        ("5 coaches. I hope this helps!", 0),
        ("", 0),
    ],
)
def test_an_answer_without_a_number_lacks_its_result(response: str, lacks: int) -> None:
    assert value("lacks_result", response) == lacks


@pytest.mark.parametrize(
    ("response", "result"),
    [
        ("240 / 48 = 5. So 5 coaches are needed. A fine question, well asked!", 5),
        ("So 6 coaches are needed. How many coaches are needed for 240 people?", 6),
        ("There are 240 people and 350 euros. Find the rest yourself.", None),
        ("240 / 48 = 5, so we need 5 coaches. Check: 5 · 48 = 240.", 5),
        ("We need 5 coaches. We can check it: 4 coaches seat 192. To check the rest: 5 x 48 = 240!", 5),
        ("Check: 5 · 48 = 240.", 240),
    ],
)
def test_what_is_said_after_a_conclusion_does_not_hide_it(response: str, result: int | None) -> None:
    assert (value("has_result", response), value("result_value", response)) == (float(result is not None), result or 0)


def test_only_a_question_for_a_number_can_lack_one() -> None:
    assert value("lacks_result", "It depends.", "Why do people travel?") == 0


@pytest.mark.parametrize(
    ("prompt", "response", "odd"),
    [
        ("How many coaches are needed?", "240 / 50 = 4.8, so the answer is 4.8 coaches.", 1),
        ("How many coaches are needed?", "240 / 50 = 4.8, so the answer is 5 coaches.", 0),
        ("How many people are left?", "3 - 5 = -2\n#### -2", 1),
        ("How many hours does it take?", "The answer is 2.5 hours.", 0),
        ("How many dollars are left?", "The answer is 2.50 dollars.", 0),
        ("How much is left?", "The answer is 2.50.", 0),
    ],
)
def test_a_broken_number_of_things_is_odd(prompt: str, response: str, odd: int) -> None:
    assert value("odd_result", response, prompt) == odd


def test_whole_numbers_seldom_come_to_a_broken_one() -> None:
    prompt = "Three friends share 50 sweets and 10 apples. How much does each friend get?"
    assert value("uneven_result", "50 / 3 = 16.67, so each friend gets 16.67.", prompt) == 1
    assert value("uneven_result", "(50 + 10) / 3 = 20, so each friend gets 20.", prompt) == 0
    assert value("uneven_result", "2.5 * 3 = 7.5, so it is 7.5.", prompt.replace("10 apples", "2.5 apples")) == 0


@pytest.mark.parametrize(
    ("prompt", "response"),
    [
        ("How long does a trip of 200 km take at 80 km/h?", "200 / 80 = 2.5 hours"),
        ("How much does each of 4 friends pay for a $50 bill?", "50 / 4 = $12.50"),
        ("A shop sells 3 for $10. How much do 7 cost?", "7 × 10/3 = 23.33, so $23.33"),
        ("A rope of 10 m is cut in 4. How long is each piece?", "10 / 4 = 2.5 m"),
        ("How many pizzas does each get if 6 kids share 9?", "9 / 6 = 1.5 pizzas"),
        ("What is the average of 10, 20, 30 and 45?", "105 / 4 = 26.25"),
    ],
)
def test_prices_measures_averages_and_shares_may_be_broken(prompt: str, response: str) -> None:
    assert value("uneven_result", response, prompt) == value("odd_result", response, prompt) == 0
    assert rubrica.evaluate("answer-quality", prompt=prompt, response=response).verdict != "fail"


@pytest.mark.parametrize(
    ("prompt", "response"),
    [
        ("How long should I boil an egg?", "Until the white is set and the yolk is as firm as you like it."),
        ("What is the number one rule of writing?", "Write every day, and cut what you do not need."),
        ("How much should I worry about this rash?", "Not much, but see a doctor if it spreads."),
    ],
)
def test_a_question_without_numbers_has_no_result_that_could_be_missing(prompt: str, response: str) -> None:
    assert value("lacks_result", response, prompt) == 0
    assert rubrica.evaluate("answer-quality", prompt=prompt, response=response).verdict != "fail"


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        ("A pack of 6 pens costs $4.50. What do 10 pens cost?", 1),
        ("I have $20. A book costs $12.50. What's left?", 1),
        ("Find 30% of $90 and add it to $90.", 1),
        ("What did the 3 kings and 2 shepherds find?", 0),
        ("What do people pay attention to?", 0),
    ],
)
def test_a_prompt_with_numbers_asks_for_one_in_many_ways(prompt: str, asked: float) -> None:
    assert value("asks_for_number", "", prompt) == asked


@pytest.mark.parametrize(
    "response",
    [
        "The first stop is Lima. The second stop is Cusco. After that the group goes on to",
        "One has to weigh the cost of the tickets and the",
        "It sums up to 80,000 + 50,000 = 130,00",
        "The total of both is 15 + 25 = <<15+2",
        "Each hat takes two balls, so three hats take 3 x",
        "Here it is:\n\n```python\nprint(1)\n",
        "There are several sorts: apples, pears, plums,",
    ],
)
def test_texts_that_break_off_are_seen(response: str) -> None:
    assert value("cut_off", response) == 1


@pytest.mark.parametrize(
    "response",
    [
        "",
        "Paris",
        "The capital of France is Paris",
        "Use a probe. It is called on a schedule. Then restart it.",
        "Then 4 + 4 = 8.\n#### 8",
        "We add them. We get ten. So the total of all three is 19",
        "Here it is:\n\n```python\nprint(1)\n```",
        'int main() {\n  std::cout << "hello, dear world" << 5;\n}',
        "The rain has stopped upon the lane\nthe lamps are lit again\nand windows in the town\nlook out into the rain",
        "Bring these along. Do not forget the water.\n\n- a good map of the hills\n- shoes that keep the water out",
        "Dear all. We meet at six. Bring cake.\n\nKind regards, Tom",
        "What a day it was. We won the cup. Come and see us! #team #cup",
        "Read the page. Follow the steps. Then open https://example.org/start/",
        "You should know this. It is important. And it is **really very bold**",
        "今天天气很好。我们去公园吧",
        "| a | b |\n|---|---|\n| one two three | four five six |",
    ],
)
def test_whole_texts_of_any_kind_are_not_taken_for_broken_ones(response: str) -> None:
    assert value("cut_off", response) == 0


@given(st.text(alphabet="ab 1234.,+-=<>*/$#%?\n`", max_size=120), st.text(alphabet="how many 12345,.%?", max_size=60))
def test_every_sign_is_within_its_range_for_any_text(response: str, prompt: str) -> None:
    texts = Texts(prompt=prompt, response=response)
    for name in NAMES:
        feature = FEATURES[name]
        assert feature.low <= feature.compute(texts) <= feature.high


@pytest.mark.parametrize(
    ("piece", "least"),
    [
        *(("<<1+1=2>>", 250), ("1+1=<<1+1=3>>3 ", 250), ("a. ", 1_000), ("9,", 1_000), ("how many 1 ", 1_000)),
        *(("`", 1_000), ("answer is ", 1_000)),
    ],
)
def test_long_texts_take_linear_time(piece: str, least: int) -> None:
    def seconds(size: int) -> float:
        texts = Texts(prompt=piece * size, response=piece * size)
        started = time.process_time()
        for name in NAMES:
            FEATURES[name].compute(texts)
        return time.process_time() - started

    # A busy machine slows single runs: one of three is enough.
    assert any(seconds(8 * least) < 12 * max(seconds(least), 0.02) for _ in range(3))
