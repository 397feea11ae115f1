"""How often the rules read one message, from the moment it is tracked until the background has nothing left to do."""

import sys
from collections import Counter
from contextlib import contextmanager

import pytest

from langmem_tiers import Turn
from langmem_tiers.language import reader, tags
from langmem_tiers.language.first_person import statements

TOLD = [
    "My sister Anna lives in Lisbon.",
    "I work at Bosch as a nurse.",
    "I no longer eat meat.",
    "My cat is called Biscuit.",
    "We moved to Leeds in 2021.",
    "I love hiking in the Harz.",
    "My brother Ben plays the cello.",
]
HISTORY = [
    Turn(role=role, content=content, message_id=f"{role} {number}")
    for number, told in enumerate(TOLD)
    for role, content in (("user", told), ("assistant", "Thanks, I will keep that in mind."))
]
AN_HOUR = 3600
FUNCTIONS = {each.__code__: each.__name__ for each in (reader.read, reader.read_revisions, tags.tags, statements)}


@contextmanager
def counting():
    """How often each function is given each thing that the user told; nothing is put in its place."""
    counted = {name: Counter(dict.fromkeys(TOLD, 0)) for name in FUNCTIONS.values()}

    def note(frame, event, _):
        if event == "call" and (name := FUNCTIONS.get(frame.f_code)):
            given = frame.f_locals
            texts = [turn.content for turn in given["said"]] if "said" in given else [given["text"]]
            counted[name].update(text for text in texts if text in TOLD)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield counted
    finally:
        sys.setprofile(before)


@pytest.fixture
def talked(memory, alice, clock):
    """The conversation as a host gives it, all of it each time that it grows, and what was read meanwhile."""
    # The patterns are compiled when they are first needed, which takes a minute while every call is looked at.
    bob = memory.user("bob")
    bob.track(HISTORY, session="s1")
    clock.tick(AN_HOUR)
    bob.flush()
    with counting() as counted:
        for upto in range(2, len(HISTORY) + 1, 2):
            alice.track(HISTORY[:upto], session="s1")
            clock.tick(60)
    return counted


def times(counted):
    """How often each function was given a message, the least and the most."""
    return {name: {*each.values()} for name, each in counted.items()}


def test_tracking_reads_each_message_once_however_long_the_conversation_gets(talked):
    assert times(talked) == {"tags": {1}, "statements": {1}, "read": {0}, "read_revisions": {0}}


def test_the_background_reads_it_once_to_mine_it_and_once_for_the_summary_of_its_session(alice, clock, talked):
    with counting() as counted:
        alice.flush()
        clock.tick(AN_HOUR)
        alice.flush()
    assert {name: times(counted)[name] for name in ("read", "read_revisions")} == {"read": {2}, "read_revisions": {1}}


def test_what_was_read_is_not_read_again_when_the_conversation_goes_on(alice, clock, talked):
    clock.tick(AN_HOUR)
    alice.flush()
    news = [Turn(role="user", content="I sold my boat.", message_id="user 7")]
    with counting() as counted:
        alice.track([*HISTORY, *news], session="s1")
        alice.flush()
        clock.tick(60)
        alice.flush()
    assert times(counted) == {"tags": {0}, "statements": {0}, "read": {0}, "read_revisions": {0}}
