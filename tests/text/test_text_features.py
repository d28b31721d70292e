"""Text features: each means what its line says, on any text."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrica.text import FEATURES as TEXT_FEATURES
from rubrica.text.features import FEATURES, MEASURES
from rubrica.text.texts import Feature, Texts
from rubrica.text.words import sentences, syllables, words

BY_NAME: dict[str, Feature] = {feature.name: feature for feature in FEATURES}


def value(name: str, response: str = "", prompt: str = "", history: tuple[str, ...] = ()) -> float:
    return BY_NAME[name].compute(Texts(prompt, response, history))


def shown(name: str, response: str) -> list[str]:
    evidence = BY_NAME[name].evidence
    assert evidence is not None
    return [span.text for span in evidence(Texts("", response))]


ANY_TEXT = st.one_of(
    st.text(),
    st.text(alphabet=st.characters(), max_size=40),
    st.text(alphabet="\ud800\udfff\0\n ?!.*_`#-'’éא😀aI", max_size=60),
    st.lists(
        st.sampled_from(["I can't help", "not happy", "*x*", "```", "- a\n", "?", "1974", "Dr. Who", "\u0130"])
    ).map(" ".join),
)


@settings(max_examples=150, deadline=None)
@given(prompt=ANY_TEXT, response=ANY_TEXT, history=st.lists(ANY_TEXT, max_size=2))
def test_every_feature_of_any_text_is_finite_and_in_range(prompt: str, response: str, history: list[str]) -> None:
    texts = Texts(prompt, response, history)
    for feature in FEATURES:
        number = feature.compute(texts)
        assert isinstance(number, float), feature.name
        assert math.isfinite(number), feature.name
        assert feature.low <= number <= feature.high, feature.name
        for span in feature.evidence(texts) if feature.evidence else ():
            assert texts.of(span.field)[span.start : span.end][:200] == span.text
            assert span.start < span.end
            assert len(span.text) <= 200


def test_every_feature_is_zero_for_empty_texts_but_for_being_empty() -> None:
    texts = Texts()
    assert {feature.name for feature in FEATURES if feature.compute(texts)} == {"is_empty", "prompt_is_empty"}


def test_names_are_unique_and_every_measure_exists_for_both_texts() -> None:
    assert len(BY_NAME) == len(FEATURES)
    for measure in MEASURES:
        assert {measure.name, f"prompt_{measure.name}"} <= BY_NAME.keys()
    assert all(feature.says and "{" not in feature.says and "\n" not in feature.says for feature in FEATURES)


def test_a_prompt_feature_reads_the_prompt() -> None:
    texts = Texts(prompt="Why? How?", response="So.")
    assert BY_NAME["prompt_question_count"].compute(texts) == 2
    assert BY_NAME["question_count"].compute(texts) == 0
    assert "prompt" in BY_NAME["prompt_question_count"].says


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    texts = Texts(response="One. Two?")
    assert not texts.derived
    BY_NAME["word_count"].compute(texts)
    assert len(texts.derived) == 1


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("word_count", "a b-c  d\n", 3),
        ("character_count", "é😀", 2),
        ("sentence_count", "Dr. Smith paid 3.50. He left! Why?", 3),
        ("sentence_count", "Well... maybe so. J. K. came, e.g. today", 2),
        ("sentence_count", "# Title\n\nBody text\n- one\n- two", 4),
        ("question_count", "Is it? Really?! See http://x.y/?q=1. No.", 2),
        ("question_count", "真的吗？ هل هذا؟ What?😀 Τι;", 3),
        ("question_count", "Τι\u037e", 1),
        ("question_count", "**Ready?** \u201cSure?\u201d", 2),
        ("exclamation_count", "Wow! Yes!! No?! Fine.", 3),
        ("pronoun_count", "I think you and they met him, i.e. in the US", 4),
        ("pronoun_count", "I'm sure we're fine", 2),
        ("second_person_count", "You and your youth", 2),
        ("contraction_count", "Don't worry, it’s Bob's and we'll see", 3),
        ("line_break_count", "a\n\nb\n", 3),
        ("list_item_count", "- a\n* b\n 1. c\nx - y\n2024 was", 3),
        ("code_block_count", "```py\nx\n```\ntext\n```\ny", 2),
        ("heading_count", "# A\n## B\n#tag\nC # D", 2),
        ("number_count", "3 cats, 4.5 dogs and 1,000 moths", 3),
        ("link_count", "see https://a.b/c and WWW.d.e", 2),
        ("hedge_count", "Maybe. I think it might rain", 3),
        ("filler_count", "Um, you know, basically fine", 3),
        ("transition_count", "First we rest, because it rains. However, then we go.", 4),
        ("example_count", "Pets, such as cats, e.g. Tom, for example", 3),
        ("profanity_count", "You idiot, that is bullshit. Classic Scunthorpe.", 2),
        ("distress_count", "I am sad, stressed and not happy, not angry", 3),
        ("joy_count", "I am happy, but not excited", 1),
        ("emotion_count", "I am happy, but not excited or sad", 3),
        ("longest_sentence_words", "One two. One two three.", 3),
        ("average_sentence_words", "One two. One two three four.", 3),
        ("unique_word_share", "a A b b", 0.5),
        ("long_word_share", "elephants eat", 0.5),
        ("uppercase_share", "ABcd 12", 0.5),
        ("repeated_sentence_share", "Go on. Go  on. Stop. go on.", 0.5),
        ("repeated_trigram_share", "a b c a b c", 0.25),
        ("is_empty", " \n\t", 1),
        ("is_empty", "x", 0),
    ],
)
def test_counts_and_shares(name: str, text: str, number: float) -> None:
    assert value(name, text) == pytest.approx(number)


@pytest.mark.parametrize(
    ("text", "stretches"),
    [
        ("*italics* and **bold**", ["*italics*", "**bold**"]),
        ("_so_ and ~~no~~", ["_so_", "~~no~~"]),
        ("run `code` #now", ["`code`", "#now"]),
        ("[here](https://x.y)", ["[here](https://x.y)"]),
        ("- one\n2. two", ["- ", "2. "]),
        ("# Head\n> quote\n| a | b |", ["# ", "> ", "| a | b |"]),
        ("a<br>b", ["<br>"]),
        ("3 * 4 * 5, 2*3*4, snake_case_name, C# #1, a_b, x < y > z, it's (fine) - really", []),
        ("**never closed", ["**"]),
    ],
)
def test_formatting_is_markup_and_not_prose(text: str, stretches: list[str]) -> None:
    assert shown("formatting_count", text) == stretches


def test_formality_tells_a_letter_from_a_chat() -> None:
    letter = "We hereby acknowledge receipt of your enquiry. Furthermore, pursuant to section 4, kindly reply."
    assert value("formality", letter) > 0.7
    for chat in (
        "That sounds great! What did you do next?",
        "I understand how you feel. Do you want to talk about it?",
        "It's been a long week, hasn't it? I'd love to hear about your sister.",
    ):
        assert value("formality", chat) < 0.5


def test_sentiment_follows_negation() -> None:
    assert value("sentiment", "This is a good idea") > 0.3
    assert value("sentiment", "This is not a good idea") < -0.3
    assert value("sentiment", "That isn't bad") > 0
    assert value("sentiment", "The table has four legs") == 0
    assert value("sentiment", "very good") > value("sentiment", "good")


def test_reading_grade_rises_with_longer_words_and_sentences() -> None:
    simple = value("reading_grade", "The cat sat. The dog ran.")
    hard = value(
        "reading_grade",
        "Institutional considerations necessitate comprehensive organisational restructuring.",
    )
    assert simple < 3 < 12 < hard <= 20


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I cannot assist with this request.", True),
        ("As an AI, I cannot provide medical advice.", True),
        ("I’m unable to share that information.", True),
        ("I must decline.", True),
        ("I can't help but smile at your story!", False),
        ("I can't help noticing how tired you sound. Do you want to talk?", False),
        ("I'm afraid I can’t help wondering why line 3 is there.", False),
        ("I can't help it, I love this plan.", False),
        ("I cannot help. Please ask somebody else.", True),
        ("Sorry, I can't help writing that essay.", True),
        ("I can't replace professional help, but I can listen.", False),
        ("I can't really help here.", True),
        ("Sure! Here is the recipe you asked for.", False),
        ("I can't help with that. Anyway: " + "step by step " * 60, False),
        ("I can't do that. Well:\n1. a\n2. b\n3. c", False),
    ],
)
def test_refusal_is_a_text_that_mainly_refuses(text: str, refuses: bool) -> None:
    assert value("refusal", text) == refuses


def test_overlap_reads_content_words_and_stems() -> None:
    assert value("prompt_overlap", "A cat purrs.", prompt="Why do cats purr loudly?") == pytest.approx(2 / 3)
    assert value("history_overlap", "The moth flew home", history=("a moth", "he flies home")) == pytest.approx(2 / 3)
    assert value("prompt_overlap", "anything", prompt="the of and") == 0


def test_shared_words_are_counted_once_whatever_their_case_and_punctuation() -> None:
    texts = Texts("Is tea, is coffee good?", "Good! Tea is fine. TEA")
    assert BY_NAME["shared_word_count"].compute(texts) == 3
    evidence = BY_NAME["shared_word_count"].evidence
    assert evidence is not None
    assert [span.text for span in evidence(texts)] == ["Good", "Tea", "is", "TEA"]


def test_echo_is_the_longest_copied_run() -> None:
    assert value("prompt_echo", "you said a b c d", prompt="a b c d e") == pytest.approx(4 / 6)
    assert value("prompt_echo", "fresh words", prompt="nothing alike") == 0
    assert value("prompt_echo", "same", prompt="Same!") == 1


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_echo_agrees_with_trying_every_run(prompt: list[str], response: list[str]) -> None:
    runs = [
        end - start
        for start in range(len(response))
        for end in range(start, len(response) + 1)
        if f" {' '.join(response[start:end])} " in f" {' '.join(prompt)} "
    ]
    longest = max((run for run in runs if run), default=0)
    assert value("prompt_echo", " ".join(response), " ".join(prompt)) == pytest.approx(longest / len(response))


def test_lengths_of_history_and_ratio() -> None:
    assert value("history_length", history=("a", "b")) == 2
    assert value("length_ratio", "one two three", prompt="a b") == 1.5
    assert value("length_ratio", "one two three") == 0


def test_evidence_is_capped() -> None:
    assert len(shown("question_count", "Why? " * 50)) == 20
    assert len(shown("question_count", "why " * 100 + "?")[0]) == 200


def test_words_keep_inner_apostrophes_hyphens_and_marks() -> None:
    texts = Texts(response="Don’t re-use snake_case, cafe\u0301 हिन्दी - ok")
    assert words(texts, "response") == ["don't", "re-use", "snake", "case", "cafe\u0301", "हिन्दी", "ok"]


def test_sentences_are_stretches_of_the_text() -> None:
    text = "  First one.  Second\n\nThird?  "
    assert [text[s.start : s.end] for s in sentences(Texts(response=text), "response")] == [
        "First one.",
        "Second",
        "Third?",
    ]


def test_syllables_by_rule_of_thumb() -> None:
    assert [syllables(word) for word in ("moth", "table", "made", "wanted", "walked", "boxes", "rhythm")] == [
        1,
        2,
        1,
        2,
        1,
        2,
        1,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["\n", "?a", "* a\n", "not happy ", "....a", "[a](", "a"])
def test_hostile_megabytes_cost_seconds_not_minutes(unit: str) -> None:
    text = unit * (300_000 // len(unit))  # three times: prompt, response and earlier reply
    texts = Texts(text, text, [text])
    start = time.process_time()
    for feature in FEATURES:
        feature.compute(texts)
    assert time.process_time() - start < 6  # less than 1 on the machine this was written on


@pytest.mark.parametrize(
    ("prompt", "response", "count"),
    [
        ("Why do noise-cancelling headphones work?", "Headphones work by cancelling noise.", 0),
        ("Why do cats purr?", "Cats purr when they are content or ill.", 2),
        ("Why?", "", 0),
    ],
)
def test_new_words_are_those_that_the_prompt_has_not(prompt: str, response: str, count: int) -> None:
    assert TEXT_FEATURES["new_word_count"].compute(Texts(prompt, response)) == count


@pytest.mark.parametrize(
    ("prompt", "response", "right", "wrong"),
    [
        ("What is 7 x 8?", "56", 1, 0),
        ("What is 7 x 8?", "That makes 54.", 0, 1),
        ("How many centimetres are in 2.4 metres?", "It is 240 cm.", 1, 0),
        ("What is 17 * 23?", "391 apples", 1, 0),
        ("What is 5 * 5?", "It is 25%.", 0, 1),
        ("What is 5 * 5?", "25 per cent", 0, 1),
        ("What is 0.5 * 0.5?", "25 percent", 1, 0),
        ("What percent of 200 is 50?", "25%", 1, 0),
        ("What is 10% of 250?", "25%", 0, 0),
        ("What is 7 x 8?", "I would have to think.", 0, 0),
        ("Tom has 3 apples and buys 4. How many are red?", "7", 0, 0),
        ("What is 2 divided by 3?", "0.67", 0, 0),
    ],
)
def test_a_short_answer_is_held_against_what_its_question_comes_to(
    prompt: str, response: str, right: int, wrong: int
) -> None:
    texts = Texts(prompt, response)
    assert [TEXT_FEATURES[name].compute(texts) for name in ("sum_right", "sum_wrong")] == [right, wrong]
