"""Files conversations by what the model found: names closets, and moves a room to the wing of its subject.

Addresses never change, so existing pointers stay valid; what the user or a project named is left alone.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from langmem_tiers.language.slugs import same_subject, slugify
from langmem_tiers.palace.closets import is_weak, subject_of, topics_of
from langmem_tiers.palace.wings import GENERAL, LEAST_SESSIONS, decide_wing
from langmem_tiers.storage import activities, change_log, closets, keyword, rooms
from langmem_tiers.storage.rooms import Room, Wing
from langmem_tiers.writing.windows import Window, WindowFindings

# How many earlier sessions are searched for the subject.
_LOOKED_AT = 200


def file_window(
    connection: Connection, space: str, window: Window, found: WindowFindings, *, kind: str, at: int
) -> None:
    """Name and file the drawers of a window by what the model found, in the caller's transaction.

    A subject gets its own wing once two sessions have named it, according to activities of this `kind`.
    """
    room = rooms.of_session(connection, space, window.session)
    if found.path != "model" or room is None:
        return
    wings = rooms.every_wing(connection, space)
    named = _name_closets(connection, space, window, found, wings)
    moved = _move(connection, space, room, window, found, wings, kind=kind, at=at)
    for changed in moved | ({room.number} if named else set()):
        _tell(connection, space, changed, at)


def _name_closets(
    connection: Connection, space: str, window: Window, found: WindowFindings, wings: Collection[Wing]
) -> bool:
    """Give the model's topics to closets without an informative name; returns whether any got one."""
    said = {turn.drawer: turn.content for turn in window.turns}
    texts: dict[int, list[str]] = {}
    for closet in closets.holding(connection, space, said):
        if closet.origin == "rule" and (closet.name == closets.UNNAMED or is_weak(closet.name)):
            texts.setdefault(closet.number, []).extend(said[drawer] for drawer in closet.drawers)
    topics = topics_of({number: "\n".join(each) for number, each in texts.items()}, found.topics)
    for number, topic in topics.items():
        closets.rename(connection, space, number, _known_name(connection, space, topic, wings), by="model")
    return bool(topics)


def _known_name(connection: Connection, space: str, topic: str, wings: Collection[Wing]) -> str:
    """The existing name of a wing or closet on this topic, so that one topic has one name."""
    callings = ((wing.name, called) for wing in wings for called in (wing.name, *wing.aliases) if wing.kind != GENERAL)
    of_wing = next((name for name, called in callings if same_subject(called, topic)), None)
    return of_wing or closets.name_of(connection, space, slugify(topic)) or topic


def _move(
    connection: Connection,
    space: str,
    room: Room,
    window: Window,
    found: WindowFindings,
    wings: Collection[Wing],
    *,
    kind: str,
    at: int,
) -> set[int]:
    """Move a room without a subject to the wing of the model's subject; returns the moved rooms."""
    general = {wing.number for wing in wings if wing.kind == GENERAL}
    subject = subject_of("\n".join(turn.content for turn in window.told), found.subject)
    if subject is None or room.wing not in general:
        return set()
    mentioned = decide_wing([subject], project=None, agent=None, known=wings)
    wing = 0 if mentioned.kind == GENERAL else mentioned.number
    moving = {room.number}
    if not wing:
        moving |= _of_same_subject(connection, space, subject, general, kind)
        if len(moving) < LEAST_SESSIONS:
            return set()
        wing = rooms.open_wing(
            connection, space, slug=slugify(subject), name=subject, kind="subject", origin="model", at=at
        )
    for each in moving:
        rooms.refile(connection, space, each, wing)
    return moving


def _of_same_subject(connection: Connection, space: str, subject: str, general: Collection[int], kind: str) -> set[int]:
    """The rooms without a subject for which the model named this one before."""
    noted = activities.latest(connection, space, _LOOKED_AT, kind=kind)
    same = {
        each.session
        for each in noted
        if each.body.get("path") == "model" and same_subject(str(each.body.get("subject") or ""), subject)
    }
    found = (rooms.of_session(connection, space, session) for session in same if session is not None)
    return {room.number for room in found if room is not None and room.wing in general}


def _tell(connection: Connection, space: str, room: int, at: int) -> None:
    """Update the keyword index with the new place of a room's drawers."""
    keyword.drawers.categorise(connection, closets.categories(connection, space, room))
    change_log.append(connection, space, "room.refiled", room, until=rooms.wing_of(connection, space, room), at=at)
