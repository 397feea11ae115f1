"""Both times of relations: any sequence of writes is answered as a naive model answers it."""

import sys
from itertools import combinations, count
from random import Random

import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langmem_tiers import Memory, Settings
from langmem_tiers.settings import StorageSettings
from langmem_tiers.testing import FrozenClock

sys.path.append(str(ROOT / "benchmarks"))
from bitemporal import DAYS, SEVERAL, SINGLE, Trial, Write, day, random_writes

from langmem_tiers.knowledge_graph.conflicts import Interval, resolve_intervals

small = st.integers(0, 7)
writes = st.builds(
    Write,
    kind=st.sampled_from(["add"] * 8 + ["end", "withdraw", "delete", "merge", "merge", "unmerge"]),
    subject=small,
    object=small,
    predicate=st.sampled_from((SINGLE, SINGLE, SEVERAL)),
    start=st.none() | st.integers(0, DAYS - 1),
    length=st.none() | st.integers(1, 5),
    said=st.booleans(),
    by=st.integers(0, 2),
    which=small,
    later=st.integers(0, 1),
)
stated = st.builds(
    Interval,
    number=st.integers(1, 10**6),
    fact=st.sampled_from("abc"),
    start=st.none() | st.integers(0, 6),
    stated_end=st.none() | st.integers(7, 12),
    start_stated=st.booleans(),
    authority=st.integers(0, 2),
    bounded=st.booleans(),
    slots=st.just((None,)),
)
groups = st.lists(stated, max_size=8, unique_by=lambda each: each.number)


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """Starts a trial in a space that the trials of this file share; its names are its own."""
    clock, numbers = FrozenClock(day(6)), count(1)
    quick = Settings(storage=StorageSettings(synchronous="NORMAL"))
    folder = tmp_path_factory.mktemp("trials")
    with Memory.open(folder, embedder=None, background=False, clock=clock, settings=quick) as memory:

        def start():
            clock.tick((day(6) - clock()).total_seconds())
            return Trial(memory.space("trials"), clock, str(next(numbers)))

        yield start


@given(sequence=st.lists(writes, min_size=2, max_size=12), chance=st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_as_of_answer_is_that_of_a_naive_model(trial, sequence, chance):
    begun = trial()
    begun.run(sequence)
    assert begun.compare(chance, 5) == 5


@pytest.mark.parametrize("seed", range(100))
def test_long_random_sequences_are_answered_alike(trial, seed):
    chance = Random(seed)
    begun = trial()
    begun.run(random_writes(chance, 20))
    assert begun.compare(chance, 5) == 5


@given(group=groups, chance=st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_the_order_of_a_group_does_not_matter(group, chance):
    mixed = list(group)
    chance.shuffle(mixed)
    assert resolve_intervals(mixed) == resolve_intervals(group)


@given(group=groups)
@settings(max_examples=300, deadline=None)
def test_no_two_of_a_group_overlap_but_for_stays_that_lie_within_the_other(group):
    settled = resolve_intervals(group)
    starts = {each.number: -1 if each.start is None else each.start for each in group}
    stays = {each.number for each in group if each.bounded}
    periods = [
        (starts[number], 13 if each.end is None else each.end, number)
        for number, each in settled.items()
        if each.believed
    ]
    around_first = sorted(periods, key=lambda each: (each[0], -each[1]))
    holding = [each for each in around_first if each[0] < each[1]]
    for (_, end, number), (later, last, other) in combinations(holding, 2):
        assert later >= end or (last <= end and (other in stays or number in stays))


@given(group=groups)
@settings(max_examples=300, deadline=None)
def test_nothing_holds_longer_than_was_stated(group):
    settled = resolve_intervals(group)
    assert all(
        settled[each.number].end is not None and settled[each.number].end <= each.stated_end
        for each in group
        if each.stated_end is not None and settled[each.number].believed
    )


@given(group=groups.filter(bool))
@settings(max_examples=200, deadline=None)
def test_what_was_said_last_by_the_highest_authority_holds_at_some_time(group):
    best = max(group, key=lambda each: (each.authority, each.number))
    end = resolve_intervals(group)[best.number].end
    assert end is None or best.start is None or end > best.start
