"""What was done "this weekend", said on a Monday, was done on the weekend before; what is to come is not."""

from datetime import UTC, date, datetime

import pytest
from meanings import user

from langmem_tiers.language.dates import times

MONDAY, SATURDAY = date(2026, 3, 9), date(2026, 3, 14)
DONE = """
I tried Neovim this weekend
We went to the lake this weekend
I finally finished the thesis this weekend
I ran 20 km this weekend
Tom visited us this weekend
This weekend we painted the kitchen
We had guests this weekend
I broke my arm this weekend
I baked bread this weekend but it burned
My parents came over this weekend
I've been sick this weekend
It snowed this weekend
I lost my keys this weekend
Clara won a medal this weekend
We watched Dune this weekend
I learned how to weld this weekend
The car died this weekend
I tried Neovim this weekend, what a mess
We swam in the lake this weekend
Tom cooked goulash this weekend
"""
AHEAD = """
I'm going to try Neovim this weekend
We're off to the lake this weekend
What should I do this weekend?
I booked a hotel for this weekend
We planned a trip this weekend
I decided to go hiking this weekend
I got tickets for the match this weekend
The wedding is this weekend
I have guests this weekend
My sister, who moved to Rome, is coming this weekend
I promised to help Tom this weekend
I was invited to a party this weekend
I wanted to paint the kitchen this weekend
I agreed to work this weekend
Our trip was moved to this weekend
They asked me to come this weekend
I signed up for a race this weekend
I bought a tent for this weekend
We were going to sail this weekend
Anna said she will come this weekend
I need to call Bob this weekend
I rented a van this weekend
The match was postponed to this weekend
"""


@pytest.mark.parametrize("said", DONE.strip().splitlines())
def test_what_was_done_this_weekend_is_of_the_one_before(said):
    assert times(said, MONDAY) == ["2026-03-07"]
    assert times(said, SATURDAY) == ["2026-03-14"]


@pytest.mark.parametrize("said", AHEAD.strip().splitlines())
def test_what_is_to_come_is_of_the_next_one(said):
    assert times(said, MONDAY) == ["2026-03-14"]


def test_what_is_known_of_it_has_that_date(alice):
    said_at = datetime(2026, 1, 12, 10, tzinfo=UTC)
    alice.track([user("I tried Neovim this weekend.", said_at=said_at)], session="s")
    alice.mine()
    assert [entry.content for entry in alice.knowledge.page().entries] == [
        "The user tried Neovim this weekend (about 2026-01-10)."
    ]
