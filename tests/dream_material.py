"""Entries and other things as a dream sees them, for tests that need no space."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta

from langmem_tiers.dream.types import Material, PairSeen, Signal
from langmem_tiers.records import Authority, Entry, EntryEvidence, Episode, RelationGrounds, SpokenTurn

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def entry(place, content, *, evidence=None, authority=0, **values):
    """The entry of a place: `e07` for 7, said in drawer 7, a day later than the one before."""
    at = NOW - timedelta(days=400 - place)
    given = {
        **dict.fromkeys(each.name for each in fields(Entry)),
        "number": place,
        "id": f"e{place:02}",
        "version": 1,
        "content": content,
        "category": "general",
        "tags": (),
        "flags": (),
        "metadata": {},
        "status": "active",
        "pinned": False,
        "created_at": at,
        "updated_at": at,
        "recall_count": 0,
        "origin": "user",
        "path": "rule",
    }
    rests = tuple(EntryEvidence(drawer=each, pointer="") for each in ((place,) if evidence is None else evidence))
    return Entry(**given | values | {"authority": Authority(authority), "evidence": rests})


def material(*contents, active=1000, **values):
    """A moment with these entries: texts, or entries as they are."""
    entries = tuple(each if isinstance(each, Entry) else entry(place, each) for place, each in enumerate(contents, 1))
    return Material(space="users/alice", at=NOW, position=1, active=active, entries=entries, **values)


def signal(drawer, quote, before="", sentiment="mildly_frustrated", kind="correction"):
    """What a user said against a reply."""
    values = {"session": "monday", "kind": kind, "sentiment": sentiment, "at": NOW}
    return Signal(drawer=drawer, quote=quote, before=before, **values)


def turn(drawer, content, role="user"):
    """A turn since the last dream."""
    return SpokenTurn(drawer=drawer, session="monday", role=role, content=content, said_at=NOW)


def episode(place, summary="The user moved to Oslo in 2021.", *, at=NOW, **values):
    """An episode that waits to be taken up."""
    nothing = dict.fromkeys(("task", "first_drawer", "last_drawer", "expires_at"))
    moments = dict.fromkeys(("began_at", "ended_at", "created_at"), at)
    given = {"id": f"p{place}", "session": f"s{place}", "abstract": summary, "topics": ()}
    kept = {"number": place, "compaction": 0, "path": "rule", "summary": summary}
    return Episode(**nothing | moments | given | kept | values)


def pair(first, second):
    """Two entities that may be one."""
    return PairSeen(first=first, second=second, first_name=first, second_name=second, score=0.9, reason="alike")


def relation(name, *, kind="stated", cited=0, standing=0, last_seen=NOW, **values):
    """A relation, and what is left of its grounds."""
    return RelationGrounds(id=name, kind=kind, cited=cited, standing=standing, last_seen=last_seen, **values)
