"""What passes by itself, such as a cold or a week in Rome, is known for some days, and then only in the messages."""

import pytest
from meanings import user

from langmem_tiers.clock import to_millis
from langmem_tiers.language.passing import passes

DAY = 86_400
PASSING = """
My husband Marc is away in Oslo this week for work
I'm in Rome this week
I'm tired today
Theo has a cold
My son has the flu at the moment
We're at my parents' place this weekend
My wife has the night shift this week
I'm on vacation until Sunday
I'm working from home today
My daughter is sick
My mother is visiting us this week
I have a headache today
Our boss is on holiday this month
My brother is in hospital right now
I'm alone with the kids tonight
Clara came down with chickenpox
I'm so exhausted
She's staying with us for a few days
This week, my sister is in Paris
Tom caught a nasty cold
My flatmate is off today
Anna has food poisoning
We have visitors this weekend
"""
STAYING = """
I live in Rome
It's my birthday today
I started my job at Bosch this week
I am a nurse
My husband is in Oslo
We adopted a cat today
My sister is getting married this weekend
My dad has diabetes
My mother is seriously ill
I'm sick of my job
I'm tired of the commute
I am always tired
My brother is chronically ill
Theo often has a cold
I'm allergic to cold medicine
I have a cold brew every morning
We moved to Oslo this week
My office is in Leipzig
I work from home
My sister is at university
Rosa starts this week
I bought a bike today
The meeting is on Thursday this week
I'm in a band
My parents are away every summer
Tom has a sore knee since 2019
I'm not sick
"""


@pytest.mark.parametrize("clause", PASSING.strip().splitlines())
def test_what_passes_by_itself_ends_within_a_month(clause, clock):
    said_at = clock()
    assert 0 < to_millis(passes(clause, said_at)) - to_millis(said_at) <= 31 * DAY * 1000


@pytest.mark.parametrize("clause", STAYING.strip().splitlines())
def test_what_stays_or_happened_does_not_end(clause, clock):
    assert passes(clause, clock()) is None


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Theo has a cold.", "Does Theo have a cold?"),
        ("My husband Marc is away in Oslo this week.", "Is my husband Marc away?"),
    ],
)
def test_what_has_passed_is_no_longer_known(alice, clock, told, question):
    alice.track([user(told)], session="s")
    alice.mine()
    assert len(alice.knowledge.page().entries) == 1
    clock.tick(40 * DAY)
    assert not alice.knowledge.page().entries
    recalled = alice.recall(question, session="t")
    assert not recalled.known
    assert [each.drawer.content for each in recalled.items] == [told]
