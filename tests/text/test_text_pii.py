import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.text.pii import FEATURES, find_pii, mask, mask_value
from rubrica.text.texts import Texts

FEATURE = {feature.name: feature for feature in FEATURES}


def kinds(text: str) -> list[tuple[str, str]]:
    return [(found.kind, found.text) for found in find_pii(text)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("SSN: 123-45-6789", "ssn", "123-45-6789"),
        ("my social security number is 123456789.", "ssn", "123456789"),
        ("pay with 4111 1111 1111 1111 today", "card", "4111 1111 1111 1111"),
        ("amex 378282246310005", "card", "378282246310005"),
        ("my card 6304000000000000 is lost", "card", "6304000000000000"),
        ("write to ann.lee+news@mail.example.org.", "email", "ann.lee+news@mail.example.org"),
        ("IBAN GB82 WEST 1234 5698 7654 32 please", "iban", "GB82 WEST 1234 5698 7654 32"),
        ("de89370400440532013000", "iban", "de89370400440532013000"),
        ("from 203.0.113.77:8080", "ip", "203.0.113.77"),
        ("host 2001:db8::8a2e:370:7334 is down", "ip", "2001:db8::8a2e:370:7334"),
        ("Call (602) 555-0148 x12", "phone", "(602) 555-0148 x12"),
        ("ring +46 (0)8 928 571 38", "phone", "+46 (0)8 928 571 38"),
        ("Tel.: 030/1234567", "phone", "030/1234567"),
        ("call me on 9472 7916?", "phone", "9472 7916"),
        ("0490 75 40 81", "phone", "0490 75 40 81"),
    ],
)
def test_each_kind_is_found_whole(text: str, kind: str, value: str) -> None:
    assert kinds(text) == [(kind, value)]


@pytest.mark.parametrize(
    "text",
    [
        "000-12-3456, 666-12-3456, 912-12-3456, 123-00-4567 and 123-45-0000 were never issued",
        "order 1234567890123456",  # no issuer
        "4111111111111112",  # wrong check digit
        "GB82 WEST 1234 5698 7654 33",  # wrong check digits
        "ISBN 978-0-306-40615-7 and 0-306-40615-2",
        "on 2024-01-15 12:30:45 and on 01.02.2024",
        "version 10.0.19.5 and section 1.2.3.4 and 300.1.1.1 and 127.0.0.1",
        "std::vector<int> at 12:30:45",
        "3.14159265358979 of 1,234,567.89",
        "there are 1500000000 mobile users, call by 12/05/2021",
        "a ratio of 100-200-3000, and 5 - 3 - 2 = 0",
        "use @decorator or user@localhost",
    ],
)
def test_plain_numbers_are_left_alone(text: str) -> None:
    assert kinds(text) == []


def test_single_digit_quads_count_only_when_called_an_address() -> None:
    assert kinds("upgrade to 1.2.3.4") == []
    assert kinds("the IP address 1.2.3.4 answers") == [("ip", "1.2.3.4")]


def test_the_most_certain_kind_wins_an_overlap() -> None:
    assert kinds("card 4111-1111-1111-1111") == [("card", "4111-1111-1111-1111")]
    assert [kind for kind, _ in kinds("123-45-6789 212-555-0100")] == ["ssn", "phone"]


def test_mask_replaces_every_piece_by_its_kind() -> None:
    assert mask("Ann, 123-45-6789, ann@example.org") == "Ann, [SSN], [EMAIL]"


def test_evidence_does_not_leak_the_value() -> None:
    texts = Texts(response="SSN: 123-45-6789")
    (span,) = FEATURE["pii_ssn"].evidence(texts)  # type: ignore[misc]
    assert span.text == "***-**-6789"
    assert (span.field, span.start, span.end, span.label) == ("response", 5, 16, "ssn")
    assert mask_value("467 3395") == "*** **95"


def test_counts_by_kind_add_up() -> None:
    texts = Texts(response="123-45-6789, a@b.org, c@d.org, 4111111111111111")
    counts = {name: feature.compute(texts) for name, feature in FEATURE.items()}
    assert counts["pii_count"] == 4
    assert (counts["pii_ssn"], counts["pii_email"], counts["pii_card"], counts["pii_phone"]) == (1, 2, 1, 0)


def test_evidence_is_capped_but_the_count_is_not() -> None:
    texts = Texts(response=" ".join(f"user{number}@example.org" for number in range(50)))
    assert FEATURE["pii_email"].compute(texts) == 50
    assert len(FEATURE["pii_email"].evidence(texts)) == 20  # type: ignore[misc]


_ODD = st.sampled_from("0123456789-. ()+@:xGBab,/\x00\ud800\u202e")


@given(st.text(alphabet=st.one_of(_ODD, st.characters())))
def test_spans_are_in_order_disjoint_and_quote_the_text(text: str) -> None:
    after = 0
    for found in find_pii(text):
        assert after <= found.start < found.end
        assert text[found.start : found.end] == found.text
        after = found.end


@given(st.text(alphabet="0123456789-. ()+@abc"))
def test_masked_text_keeps_everything_that_is_not_personal(text: str) -> None:
    rest = mask(text)
    for found in find_pii(text):
        rest = rest.replace(f"[{found.kind.upper()}]", found.text, 1)
    assert rest == text
