"""The asynchronous twins take what their originals take and give what they give."""

import asyncio
import inspect
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from langmem_tiers import Memory, Space, Turn
from langmem_tiers.errors import NaiveDatetime
from langmem_tiers.testing import FrozenClock, HashEmbedder

TWINS = [
    "track",
    "recall",
    "search",
    "report",
    "why",
    "dream",
    "approve_dream",
    "dreams",
    "undo_dream",
    "redo_dream",
    "forget",
    "export",
    "flush",
]


@pytest.fixture
def pair(tmp_path):
    """The same user in two memories of their own."""
    moment = datetime(2026, 3, 2, 9, tzinfo=UTC)
    memories = [
        Memory.open(tmp_path / name, embedder=HashEmbedder(), background=False, clock=FrozenClock(moment))
        for name in "ab"
    ]
    yield [memory.user("alice") for memory in memories]
    for memory in memories:
        memory.close()


def turns() -> list[Turn]:
    return [
        Turn(role="user", content="The robot is red.", message_id="1"),
        Turn(role="assistant", content="Red robots are fast.", message_id="2"),
        Turn(role="user", content=" ", message_id="3"),
    ]


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_has_the_same_signature(name):
    original, twin = getattr(Space, name), getattr(Space, f"a{name}")
    assert inspect.signature(twin) == inspect.signature(original)
    assert inspect.iscoroutinefunction(twin)


def test_every_twin_is_looked_at():
    twins = {name for name, _ in inspect.getmembers(Space, inspect.iscoroutinefunction)}
    assert twins == {f"a{name}" for name in TWINS}


async def test_tracking_gives_the_same_report_and_the_same_drawers(pair):
    here, there = pair
    where = {"session": "s", "project": "Robots", "agent": "ops"}
    report, awaited = here.track(turns(), **where), await there.atrack(turns(), **where)
    assert replace(report, rejected=()) == replace(awaited, rejected=())
    assert [str(each.error) for each in report.rejected] == [str(each.error) for each in awaited.rejected]
    assert (here.drawers(), here.sessions()) == (there.drawers(), there.sessions())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"session": "t", "message_id": "9", "window": ["9"], "limit": 1, "threshold": 0.1, "token_budget": 500},
        {"session": "t", "as_of": datetime(2020, 1, 1, tzinfo=UTC), "now": datetime(2027, 1, 1, tzinfo=UTC)},
        {"session": "t", "keep_receipt": False},
    ],
)
async def test_recalling_gives_the_same_block_and_receipt(pair, options):
    here, there = pair
    for space in pair:
        space.track(turns(), session="s")
        space.flush()
    recalled, awaited = (
        here.recall("Where is the robot?", **options),
        await there.arecall("Where is the robot?", **options),
    )
    assert (recalled.block, recalled.items) == (awaited.block, awaited.items)
    assert replace(recalled.receipt, timings={}) == replace(awaited.receipt, timings={})


@pytest.mark.parametrize("options", [{}, {"kind": "tasks"}, {"project": "Robots", "limit": 1}])
async def test_reports_are_the_same(pair, options):
    for space in pair:
        space.tasks.start("Paint the robot", id="paint", project="Robots")
        space.track(turns(), session="s", project="Robots", task="paint")
    report, awaited = pair[0].report("this month", **options), await pair[1].areport("this month", **options)
    assert report == awaited
    assert report.tasks


async def test_errors_come_through(pair):
    with pytest.raises(NaiveDatetime):
        await pair[0].arecall("Where is the robot?", as_of=datetime(2024, 1, 1))


async def test_many_at_once_lose_nothing(pair):
    await asyncio.gather(*(pair[0].atrack([Turn(role="user", content=f"robot {n}")], session="s") for n in range(40)))
    assert [drawer.number for drawer in pair[0].drawers()] == list(range(1, 41))


async def test_forgetting_gives_the_same_preview_and_the_same_counts(pair):
    here, there = pair
    for space in pair:
        space.track(turns(), session="s")
    shown, awaited = here.forget(messages="1"), await there.aforget(messages="1")
    assert shown == awaited
    assert here.forget(messages="1", confirm=shown.token) == await there.aforget(messages="1", confirm=awaited.token)
