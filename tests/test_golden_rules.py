"""What the rules find in single messages, and how they read dates, compared with golden files."""

from datetime import UTC, datetime, timedelta

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.settings import DreamSettings, StorageSettings
from langmem_tiers.testing import FrozenClock
from tests.goldens import FOLDER, check

pytestmark = pytest.mark.xdist_group("golden")
# A Wednesday.
NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
# So many messages go into one space, each as a session of its own, and each of another kind.
_TOGETHER = 10
_PLACES = ("Oslo", "Lund", "Graz", "Cork", "Riga", "Bern", "Brno", "Lyon", "Turin", "Gdansk")


@pytest.fixture
def memory(tmp_path):
    settings = Settings(
        dream=DreamSettings(enabled=False),
        storage=StorageSettings(synchronous="NORMAL"),
    )
    options = {"embedder": None, "background": False, "clock": FrozenClock(NOW + timedelta(hours=3))}
    with Memory.open(tmp_path / "memory", settings=settings, **options) as opened:
        yield opened


def _lines(name):
    return [line for line in (FOLDER / name).read_text(encoding="utf-8").splitlines() if line]


def _found(memory, texts):
    """What each text gives: lines of tags, entries and relations, by the drawer that they rest on."""
    spaces = -(-len(texts) // _TOGETHER)
    found = {text: [] for text in texts}
    for place in range(spaces):
        said = texts[place::spaces]
        space = memory.user(f"user-{place}")
        for number, text in enumerate(said):
            space.track([Turn(role="user", content=text, message_id="m", said_at=NOW)], session=f"s{number}")
        space.mine()
        space.flush()
        for text, lines in zip(said, _by_drawer(space, len(said)), strict=True):
            found[text] += lines
    return found


def _by_drawer(space, count):
    lines = [[] for _ in range(count)]
    for drawer in space.drawers():
        if drawer.tags:
            lines[drawer.number - 1].append(f"tags      {'  '.join(drawer.tags)}")
    entries = [each.entry for each in space.knowledge.search(status="all", limit=100)]
    for entry in sorted(entries, key=lambda each: each.number):
        extra = "" if entry.active else f" ({entry.reason})"
        extra += f" [{', '.join(entry.flags)}]" if entry.flags else ""
        extra += f" authority {int(entry.authority)}" if entry.authority else ""
        extra += f" until {entry.expires_at:%Y-%m-%d}" if entry.expires_at else ""
        for evidence in entry.evidence[:1]:
            lines[evidence.drawer - 1].append(f"entry     {entry.content}  {entry.category}{extra}")
    entities = space.graph.entities(limit=100)
    relations = {each.id: each for one in entities for each in space.graph.timeline(one.id).relations}
    for relation in sorted(relations.values(), key=lambda each: each.number):
        types = f"({relation.subject.type} > {relation.object.type if relation.object else 'value'})"
        for evidence in relation.evidence:
            lines[evidence.drawer - 1].append(f"relation  {relation}  {types}{_period(relation.period)}")
    return lines


def _period(period):
    parts = []
    if period.start is not None and period.start_stated:
        parts.append(f"from {period.start:%Y-%m-%d %H:%M} ({period.start_unit})")
    if period.end is not None:
        parts.append(f"to {period.end:%Y-%m-%d %H:%M} ({period.end_unit})")
    return "  " + " ".join(parts) if parts else ""


def test_what_the_rules_find_in_single_messages(memory):
    lines = _lines("sentences.txt")
    found = _found(memory, [line for line in lines if not line.startswith("#")])
    text = []
    for line in lines:
        text += ["", line] if line.startswith("#") else [line, *(f"    {each}" for each in found[line])]
    check("sentences_found.txt", "\n".join(text))


def test_how_dates_are_read(memory):
    phrases = _lines("dates.txt")
    spaces = -(-len(phrases) // _TOGETHER)
    found = _found(memory, [f"I went to {_PLACES[at // spaces]} {phrase}." for at, phrase in enumerate(phrases)])
    text = [f"{sentence}\n" + "".join(f"    {each}\n" for each in lines) for sentence, lines in found.items()]
    check("dates_read.txt", "".join(text))
