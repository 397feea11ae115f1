"""What forgetting shows before it, and the receipt after it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Bytes = Literal["gone", "pending"]
"""`pending`: no search finds it any more, and the background erases it from the files as soon as it can."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetItem:
    """One thing that goes, or that stays without the forgotten part of what it rests on.

    Attributes:
        ref: Its pointer, id, path or key.
        text: The beginning of it, at most 200 characters.
        why: Why it is in the list, as a short sentence.
        partly: True if it stays, without the lines or passages that repeat what is forgotten.
    """

    ref: str
    text: str
    why: str
    partly: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetPreview:
    """What `space.forget` would delete; nothing has changed yet.

    Give `token` as `confirm` to delete exactly this. If anything of it has changed by then, that is an error, and
    nothing is deleted.

    Attributes:
        token: Names exactly what is listed here.
        drawers: The messages.
        entries: What is known only from them, or was named.
        episodes: Summaries; `partly` where only some passages go.
        relations: Relations of the graph.
        entities: People, places and things that nothing else speaks of; `partly` where only another name of them goes.
        documents: Notes; `partly` where only some lines go.
        identity: Lines of the identity that repeat it; earlier versions lose them as well.
        tasks: Tasks whose working state repeats it; only those passages go.
        working: Keys of working memory that repeat it.
        store_items: Items of the LangGraph store that repeat it.
        questions: Golden questions about it.
        feedback: Feedback on it, or on a session that goes as a whole; `partly` where only a part of the note goes.
        receipts: How many receipts of recalls go, with the blocks in them.
        dreams: How many dreams can no longer be undone, or lose a part of their report.
        vectors: How many vectors go, about.
        stays: What rests on other evidence and loses only the forgotten one.
        sessions: The conversations that lose messages; their LangGraph checkpoints still hold them.
    """

    token: str
    drawers: tuple[ForgetItem, ...] = ()
    entries: tuple[ForgetItem, ...] = ()
    episodes: tuple[ForgetItem, ...] = ()
    relations: tuple[ForgetItem, ...] = ()
    entities: tuple[ForgetItem, ...] = ()
    documents: tuple[ForgetItem, ...] = ()
    identity: tuple[ForgetItem, ...] = ()
    tasks: tuple[ForgetItem, ...] = ()
    working: tuple[ForgetItem, ...] = ()
    store_items: tuple[ForgetItem, ...] = ()
    questions: tuple[ForgetItem, ...] = ()
    feedback: tuple[ForgetItem, ...] = ()
    receipts: int = 0
    dreams: int = 0
    vectors: int = 0
    stays: tuple[ForgetItem, ...] = ()
    sessions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in LISTS)


LISTS = (
    "drawers",
    "entries",
    "episodes",
    "relations",
    "entities",
    "documents",
    "identity",
    "tasks",
    "working",
    "store_items",
    "questions",
    "feedback",
)
"""The lists of a preview, in the order in which they are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetReceipt:
    """What was forgotten, in numbers; it holds no words of it.

    Attributes:
        id: The number of the activity that records it.
        at: When it was deleted.
        space: Where.
        counts: How many of each went: drawers, entries, episodes and so on.
        stays: How much stays, without the forgotten part of its evidence.
        bytes: Whether the files hold none of it any more; on servers, whether its rows and vectors are deleted.
        backups: Backups that were made before and still hold it, by path.
        elsewhere: What this memory cannot reach, each with what to do about it.
    """

    id: int
    at: datetime
    space: str
    counts: dict[str, int]
    stays: int
    bytes: Bytes
    backups: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SpacePreview:
    """What `Memory.delete_space` and `Memory.delete_user` would delete; nothing has changed yet.

    Attributes:
        token: Give it as `confirm` to delete the space as it is now.
        space: Its name.
        exists: False if there is no such space.
        counts: How much of each is in it.
        traces: How many receipts of other spaces show something of it.
        settings: Whether the settings file has a section of its own.
    """

    token: str
    space: str
    exists: bool
    counts: dict[str, int]
    traces: int
    settings: bool
