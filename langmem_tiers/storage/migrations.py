"""The schema's history: named, append-only steps, all that are missing in one transaction with their records.

A file written by a newer version is refused; an older one is copied beside itself and then brought up to date.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, func, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from langmem_tiers.clock import to_millis, utc_now
from langmem_tiers.errors import DatabaseDamaged, MigrationFailed, NewerSchema, NotAMemoryFolder
from langmem_tiers.storage import changesets, embedding_cache, keyword, schema, seals, tombstones
from langmem_tiers.storage.sqlite_file import APPLICATION_ID, SqliteFile
from langmem_tiers.storage.statements import driver_rows
from langmem_tiers.version import __version__

# Vectors that are converted while a memory is opened: less than half a second.
_HALVED = 20_000


@dataclass(frozen=True)
class Migration:
    """One step of the schema, with the name it is recorded under."""

    name: str
    apply: Callable[[Connection], None]
    of_older: bool = False
    """It changes older files only: a new one has today's tables from the first step."""


@cache
def _statements() -> dict[str, str]:
    """What creates each of today's tables and indexes, by its name; compiled once, since that takes longest."""
    dialect = sqlite.dialect()
    made: list[CreateTable | CreateIndex] = []
    for table in schema.metadata.sorted_tables:
        made.append(CreateTable(table))
        made += (CreateIndex(index) for index in sorted(table.indexes, key=lambda index: str(index.name)))
    return {str(each.element.name): str(each.compile(dialect=dialect)) for each in made}


def _create(connection: Connection) -> None:
    """Create what is missing of today's tables and indexes."""
    there = set(connection.exec_driver_sql("SELECT name FROM sqlite_schema").scalars())
    for name, statement in _statements().items():
        if name not in there:
            connection.exec_driver_sql(statement)
    keyword.drawers.create(connection)
    keyword.notes.create(connection)
    connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")


def _adding(column: Column[Any]) -> Callable[[Connection], None]:
    """The step that adds a column; NOT NULL needs a `server_default`."""

    def add(connection: Connection) -> None:
        # The first step creates today's tables: only a file that was made before lacks the column.
        present = connection.exec_driver_sql(f"SELECT name FROM pragma_table_info('{column.table.name}')").scalars()
        if column.name not in set(present):
            definition = CreateColumn(column).compile(dialect=sqlite.dialect())
            connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {definition}")

    return add


def _measure_working_memory(connection: Connection) -> None:
    """Keep how long each value in working memory is."""
    entries = schema.working_entries
    _adding(entries.c.characters)(connection)
    connection.execute(update(entries).values(characters=func.length(entries.c.value)))


def _name_projects(connection: Connection) -> None:
    """Give drawers and episodes the project of their session, which was known of the session only."""
    for column in (schema.drawers.c.project, schema.drawers.c.task, schema.entries.c.task, schema.episodes.c.project):
        _adding(column)(connection)
    rooms, drawers, episodes = schema.rooms.c, schema.drawers.c, schema.episodes.c
    of_room = select(rooms.project).where(rooms.space == drawers.space, rooms.number == drawers.room)
    of_session = select(rooms.project).where(rooms.space == episodes.space, rooms.session == episodes.session)
    connection.execute(update(schema.drawers).values(project=of_room.scalar_subquery()))
    connection.execute(update(schema.episodes).values(project=of_session.scalar_subquery()))


def _open_tasks(connection: Connection) -> None:
    """Make the table of tasks, with those whose result was archived by name; the last archive of each counts.

    Archives of tasks stay from now on.
    """
    _create(connection)
    of_tasks = schema.episodes.c.compaction < 0
    connection.execute(update(schema.episodes).where(of_tasks).values(expires_at=None))
    archived = select(schema.episodes).where(of_tasks).order_by(schema.episodes.c.number)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for each in connection.execute(archived):
        began = rows.get((each.space, each.task), {}).get("created_at", each.created_at)
        ended = {"episode": each.id, "updated_at": each.created_at, "closed_at": each.created_at}
        named = {"space": each.space, "id": each.task, "title": each.task, "created_at": began}
        rows[each.space, each.task] = {**named, **ended, "status": "completed", "state": "", "project": each.project}
    if rows:
        connection.execute(insert(schema.tasks), list(rows.values()))


def _key_tombstones(connection: Connection) -> None:
    """Store what was deleted under a key of the space; also in the changesets of dreams, which undoing puts back."""
    for space in connection.execute(select(schema.tombstones.c.space).distinct()).scalars().all():
        tombstones.key_all(connection, space)
        secret = tombstones.secret_of(connection, space)
        if secret is not None:
            changesets.rekey_tombstones(connection, space, secret)


def _keep_previews(connection: Connection) -> None:
    """Let a dream that is only previewed be kept, with what it saw."""
    for column in (schema.dreams.c.saw, schema.dreams.c.turns_upto):
        _adding(column)(connection)


def _seal(connection: Connection) -> None:
    """Hash the words that have no hash in their own row."""
    _create(connection)
    seals.seal_all(connection)


def _halve_vectors(connection: Connection) -> None:
    """Store vectors in half the room; those beyond the first wait for `rebuild`, so that opening does not."""
    embedding_cache.halve(connection, 0, _HALVED)


MIGRATIONS: tuple[Migration, ...] = (
    Migration("create", _create),
    Migration("states of drawers", _adding(schema.drawers.c.states), of_older=True),
    Migration("knowledge, episodes, identity, documents", _create, of_older=True),
    Migration("temporal knowledge graph", _create, of_older=True),
    Migration("dreams", _create, of_older=True),
    Migration("store items", _create, of_older=True),
    Migration("revisions", _create, of_older=True),
    Migration("branches of conversations", _adding(schema.turns.c.follows), of_older=True),
    Migration("working memory", _create, of_older=True),
    Migration("sizes in working memory", _measure_working_memory, of_older=True),
    Migration("projects and tasks", _name_projects, of_older=True),
    Migration("states of tasks", _open_tasks, of_older=True),
    Migration("recorded feedback", _create, of_older=True),
    Migration("keyed tombstones", _key_tombstones, of_older=True),
    Migration("previews of dreams", _keep_previews, of_older=True),
    Migration("seals of words", _seal, of_older=True),
    Migration(
        "seals of store items", lambda connection: seals.seal_all(connection, [schema.store_items]), of_older=True
    ),
    Migration("vectors in half the room", _halve_vectors, of_older=True),
    Migration("seals of changesets", lambda connection: seals.seal_all(connection, [schema.changesets]), of_older=True),
)


def migrate(database: SqliteFile, migrations: Sequence[Migration] = MIGRATIONS) -> Path | None:
    """Bring the schema up to date. Returns the path of the backup, if there was something to back up.

    Raises:
        NotAMemoryFolder: the file is some other program's database.
        NewerSchema: the file has more steps than this version knows.
        MigrationFailed: a step failed; the file is as it was.
    """
    done = _steps_done(database, len(migrations))
    if done == len(migrations):
        return None
    backup = _backed_up(database, done) if done else None
    with database.writing() as connection:
        # Others may have done it while we waited. In one transaction, so that nobody sees a file half migrated.
        held = _version(connection)
        missing = migrations[held:]
        for step in missing:
            if held or not step.of_older:
                _apply(database, connection, step)
        at = to_millis(utc_now())
        rows = [
            {"space": database.space, "position": position, "name": step.name, "version": __version__, "at": at}
            for position, step in enumerate(missing, held)
        ]
        if rows:
            connection.execute(insert(schema.migrations), rows)
            connection.exec_driver_sql(f"PRAGMA user_version={len(migrations)}")
    return backup


def _backed_up(database: SqliteFile, done: int) -> Path | None:
    """A copy of the file as it was after so many steps; None if another process took more meanwhile."""
    backup = database.path.with_name(f"{database.path.name}.schema-{done}.bak")
    own = backup.with_suffix(f".{secrets.token_hex(4)}.bak")
    try:
        database.backup(own)
        with closing(sqlite3.connect(own)) as copy:
            unchanged = copy.execute("PRAGMA user_version").fetchone() == (done,)
        return own.replace(backup) if unchanged else None
    finally:
        own.unlink(missing_ok=True)


def _version(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


_STATE = (
    "SELECT application_id, user_version, NOT EXISTS (SELECT 1 FROM sqlite_schema) "
    "FROM pragma_application_id, pragma_user_version"
)


def _steps_done(database: SqliteFile, known: int) -> int:
    with database.reading() as connection:
        ((owner, held, empty),) = driver_rows(connection, _STATE, ())
    done = int(held)
    if not empty and owner != APPLICATION_ID:
        raise NotAMemoryFolder(f"{database.path} is a database of another program.")
    if done < 0:
        raise DatabaseDamaged(f"{database.path} says that it has schema {done}.")
    if done > known:
        raise NewerSchema(f"{database.path} has schema {done}; this version knows up to {known}.")
    return done


def _apply(database: SqliteFile, connection: Connection, step: Migration) -> None:
    try:
        step.apply(connection)
    except (SQLAlchemyError, DatabaseDamaged) as error:
        raise MigrationFailed(f"Migration {step.name!r} of {database.path} failed: {error}.") from error
