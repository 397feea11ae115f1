"""Removing the vectors of a space from Chroma servers: what was forgotten at once, and all of a deleted space."""

from __future__ import annotations

from sqlalchemy import Connection

from langmem_tiers.errors import ServerUnreachable
from langmem_tiers.storage import change_log, facts
from langmem_tiers.storage.chroma_client import ChromaServers, Place
from langmem_tiers.storage.chroma_server import PLACE, ServerNoteVectors, ServerVectors, mark_of
from langmem_tiers.storage.database import Database


def withdraw(database: Database, server: ChromaServers | None) -> bool:
    """Remove the vectors at once of what was forgotten in a space, of all kinds and all models.

    The background does the same when it comes to that in the log. False if somebody may just be sending one of them,
    or no server was named: then only the background knows when they are gone.

    Raises:
        ServerUnreachable: the server does not answer.
    """
    done = [kind.withdraw(database, server) for kind in (ServerVectors, ServerNoteVectors)]
    return all(done)


class SpaceClearing:
    """Removes the vectors of a space that is about to be deleted, and has them sent again if it stays after all."""

    def __init__(self, server: ChromaServers | None) -> None:
        self._server = server
        self._begun = False
        self._cleared: list[str] = []

    def clear(self, connection: Connection, space: str) -> None:
        """Remove the vectors, of all kinds and of all models that the space was used with.

        Raises:
            ServerUnreachable: the server does not answer, and some may still be there; or none was named.
        """
        places = facts.beginning(connection, space, f"{PLACE}:")
        if not places:
            return
        if self._server is None:
            raise ServerUnreachable(
                "The space has vectors on a Chroma server, and none was named when the memory was opened.",
                way_out="Name it, with chroma= or --chroma, and repeat the call. Nothing was deleted.",
            )
        for ask in self._server.asking():  # one that is away is told in a few seconds, and before anything is removed
            ask()
        for fact, held in places.items():
            self._begun = True
            self._server.clear(Place.read(held), mark_of(space))
            self._cleared.append(fact)

    def take_back(self, connection: Connection, space: str) -> bool:
        """Have what was removed sent again, and until then read from the records; False if nothing was."""
        for fact in self._cleared:
            facts.drop(connection, space, fact)
        for kind in (ServerVectors, ServerNoteVectors) if self._begun else ():
            change_log.reset_cursor(connection, space, kind.CURSOR)
        return self._begun
