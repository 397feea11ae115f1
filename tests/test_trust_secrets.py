"""Secrets are found by what is known of each kind, and what only looks random stays."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from secret_samples import AMEX, PLAIN, SECRETS, VISA, card, grouped, made_up

from langmem_tiers.trust.secrets import find, mask

# Built so that a pattern with two ways to read them would try all of them: such a test would not end.
HARD = [
    *("eyJ" * 60_000, "eyJaaaaaaaaaaa." * 12_000, "sk-" * 60_000, "4111 " * 40_000, "4" * 200_000),
    *("-----BEGIN PRIVATE KEY-----\n" * 7_000, "-----BEGIN PRIVATE KEY-----" + "A" * 200_000),
    *("password: " * 20_000, "password is " * 16_000, 'password: "' * 18_000, "password:" + " " * 200_000),
    *("postgres://a:" * 15_000, "a://b:" + "c" * 200_000, "curl " * 40_000, "Private-Lines: 3\n" * 12_000),
    *("seed phrase " + "apple " * 33_000, "my " * 66_000 + "pin", "changed " * 25_000 + "password to x"),
]


@pytest.mark.parametrize(("text", "secret", "kind"), SECRETS)
def test_a_secret_is_masked_and_its_kind_is_named(text, secret, kind):
    assert kind in [found.kind for found in find(text)]
    assert secret not in mask(text)
    assert f"[secret: {kind}]" in mask(text)


@pytest.mark.parametrize("before", ["\n", "\t", "\x07", "\u200b", "é\r", "\U000e0001"])
def test_a_key_behind_an_escape_is_masked(before):
    key = f"ghp_{made_up(36)}"
    for told in (repr(before + key), ascii(before + key), json.dumps(before + key)):
        assert key not in mask(f"There is no {told}.")


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text):
    assert mask(text) == text


@pytest.mark.parametrize("text", [text for text, _, _ in SECRETS])
def test_masking_again_changes_nothing(text):
    assert mask(mask(text)) == mask(text)


def test_everything_around_a_secret_stays_as_it_was():
    text = f"Before,\n\tthe key {(key := 'ghp_' + made_up(36))} and\r\nbehind it 🙂."
    assert mask(text) == text.replace(key, "[secret: github token]")


def test_letters_that_grow_when_made_small_do_not_shift_the_mask():
    assert mask("İİİ, the password is hunter2!1 İ") == "İİİ, the password is [secret: password] İ"


def test_a_secret_that_two_rules_see_is_masked_once():
    key = "sk-ant-api03-" + made_up(93)
    assert mask(f"api_key: {key}") == "api_key: [secret: anthropic key]"


def test_a_placeholder_is_short_however_long_the_secret_is():
    assert len(mask("sk-proj-" + made_up(50_000))) < 30


def test_several_secrets_are_found_in_order():
    text = " and ".join(text for text, _, _ in SECRETS[:12])
    found = find(text)
    assert len(found) >= 12
    assert all(before.stop <= after.start for before, after in pairwise(found))


@pytest.mark.parametrize("digits", [VISA, AMEX, card("6011"), card("5105"), card("3528"), card("2223")])
def test_a_number_is_a_card_only_with_its_check_digit(digits):
    wrong = digits[:-1] + str((int(digits[-1]) + 1) % 10)
    assert mask(f"my card: {digits}") == "my card: [secret: card number]"
    assert mask(f"my card: {wrong}") == f"my card: {wrong}"


def test_a_number_that_is_said_to_be_something_else_is_no_card():
    assert mask(f"order number {VISA}, paid with {VISA}") == f"order number {VISA}, paid with [secret: card number]"


def test_groups_of_a_card_are_of_one_kind():
    assert find(f"{VISA[:4]}-{VISA[4:8]} {VISA[8:12]}.{VISA[12:]}") == ()
    assert find(grouped(VISA, "-"))


@given(st.text())
def test_any_text_is_read(text):
    found = find(text)
    assert all(0 <= secret.start < secret.stop <= len(text) for secret in found)
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize("text", HARD, ids=lambda text: text[:12].strip())
def test_a_text_made_to_be_slow_is_read(text):
    assert isinstance(mask(text), str)
