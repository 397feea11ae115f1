"""Keys and tokens that gitleaks finds are masked, from the first sign to the last; what only looks like one stays."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from langmem_tiers.trust import key_formats
from langmem_tiers.trust.secrets import find, mask
from langmem_tiers.trust.stand_ins import is_stand_in

CORPUS = Path(__file__).parent / "corpora" / "gitleaks"
LEAST_RECALL, LEAST_RULES, MOST_FALSE = 0.95, 200, 0.02
PARTLY = 0.01  # of secrets that are found at all
MOST_MILLISECONDS = 1.0  # for a message of 300 characters
SECRETS_OF_A_DOOR, LEAST_TOLD = 30, 1_500
PLACES_IN_CHAT = ("my token is {}", "here you go: {}.", "use {}, please", "({})", "is it `{}`?", "{}\nthanks!")
# What stands in examples and in code, where a secret would.
STAND_INS = (
    *(
        "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk_live_XXXXXXXXXXXXXXXXXXXXXXXX",
        "ghp_your_token_here",
        "<your-token>",
    ),
    *("AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY", "${TOKEN}", "$TOKEN", "%TOKEN%", "{{ token }}", "REDACTED"),
    *("${{ secrets.TOKEN }}", 'os.environ["API_TOKEN_2"]', "process.env.API_TOKEN_2", "sk-your-key-here-1234567890ab"),
    *("xoxb-xxxxxxxxxxxx-xxxxxxxxxxxx", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
)
SAID_OF_THEM = (
    '{{"token": "{}"}}',
    "token: {}",
    "TOKEN={}",
    "my token is {}",
    "password: {}",
    "the password is {}",
    "{}",
)
ORDINARY = (
    "We moved to Lisbon on 2024-03-14 with our daughter, who started school there in September; the flat is at Rua do "
    "Século 104, third floor, and misunderstandings with the landlord (invoice 2024-000123, "
    "https://example.org/tickets/48213) took us 5 weeks. Next summer we want to see the Azores."
)


def samples(name):
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def covered(text, secret) -> float:
    """The share of a secret that is masked."""
    start = text.index(secret)
    stop = start + len(secret)
    return sum(max(0, min(stop, each.stop) - max(start, each.start)) for each in find(text)) / len(secret)


@pytest.mark.parametrize("name", ["positives", "written"])
def test_what_gitleaks_finds_is_masked_whole(name):
    shares = [covered(each["text"], each["secret"]) for each in samples(name)]
    found = sum(share > 0 for share in shares)
    whole = sum(share == 1 for share in shares)
    assert whole / len(shares) >= LEAST_RECALL
    assert found - whole <= PARTLY * found


def test_there_are_samples_of_200_rules():
    assert len({each["rule"] for each in samples("positives")}) >= LEAST_RULES


def test_what_gitleaks_leaves_stays():
    flagged = [each["text"] for each in samples("negatives") if find(each["text"])]
    assert len(flagged) <= MOST_FALSE * len(samples("negatives")), flagged


@pytest.mark.parametrize("text", SAID_OF_THEM)
def test_what_stands_in_for_a_secret_stays(text):
    assert [each for each in STAND_INS if find(text.format(each))] == []


def test_tokens_are_masked_whole_in_a_conversation():
    tokens = [each.id for each in key_formats.formats() if not each.at_name]
    secrets = [each["secret"] for each in samples("positives") if each["rule"] in tokens]
    shares = [covered(place.format(secret), secret) for secret in secrets for place in PLACES_IN_CHAT]
    assert sum(share == 1 for share in shares) / len(shares) >= LEAST_RECALL


def test_a_token_longer_than_its_format_is_masked_whole():
    assert mask("ghp_" + "a1B2c3D4e5F6" * 5 + "-tail9, ok") == "[secret: github token], ok"


@pytest.mark.parametrize(
    "text",
    [
        "my adafruit key is 3f8a9c1bd2e4f56789ab3f8a9c1bd2e4",
        "the snyk token is 3f8a9c1b-d2e4-4567-89ab-3f8a9c1bd2e4",
        "rk_prod_8sdfhSDFs87sdf1x is for Stripe",
    ],
)
def test_keys_are_found_as_people_say_them(text):
    assert "[secret: " in mask(text)
    assert not any(sign.isdigit() for sign in mask(text))


def test_every_format_is_read_from_the_list_once_and_has_a_keyword():
    assert len(key_formats.formats()) > LEAST_RULES
    assert all(each.keywords for each in key_formats.formats())
    assert all(keyword == keyword.lower() for each in key_formats.formats() for keyword in each.keywords)
    assert key_formats.formats() is key_formats.formats()


def test_an_ordinary_message_takes_well_under_a_millisecond():
    find(ORDINARY)
    times = []
    for _ in range(50):
        begun = time.process_time()
        find(ORDINARY)
        times.append(time.process_time() - begun)
    assert 1_000 * min(times) < MOST_MILLISECONDS


def test_names_of_variables_stand_in_for_what_they_hold():
    assert is_stand_in("AWS_SECRET_ACCESS_KEY")
    assert not is_stand_in("CLOJARS_34bf0e88955ff5a1")


@pytest.mark.parametrize("policy", ["refuse", "mask"])
def test_no_secret_is_left_by_any_door(policy, root, offline_environment):
    """30 secrets through each of some 50 doors: in files, log records, spans, metrics, receipts, answers, errors."""
    path = os.pathsep.join([offline_environment["PYTHONPATH"], str(root / "tests")])
    run = subprocess.run(
        [sys.executable, str(root / "tests" / "secret_doors.py"), policy],
        env={**offline_environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["secrets"] >= LEAST_TOLD
    assert told["leaks"] == []
    assert told["refused"]["save"] == (SECRETS_OF_A_DOOR if policy == "refuse" else 0)
