"""The log of changes and what follows it."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Table, Text

from langmem_tiers.storage.schema.base import metadata, space_column

changes = Table(
    "changes",
    metadata,
    space_column(),
    Column("position", BigInteger, nullable=False),
    Column("kind", Text, nullable=False, comment="What happened, such as drawer.added; see change_log.py."),
    Column("subject", BigInteger, nullable=False, comment="Number of the record it happened to."),
    Column("until", BigInteger, comment="Last number, where one change covers a run of records."),
    Column("detail", Text, comment="One word more, such as the embedding model."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "position"),
    comment="Append-only log, written in the transaction of the change itself; projections follow it.",
)

cursors = Table(
    "cursors",
    metadata,
    space_column(),
    Column("name", Text, nullable=False, comment="Projection or background pass, such as embed:all-MiniLM-L6-v2."),
    Column("position", BigInteger, nullable=False, comment="Log position up to which it has been carried out."),
    PrimaryKeyConstraint("space", "name"),
    comment="How far each follower of the log has come.",
)

facts = Table(
    "facts",
    metadata,
    space_column(),
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False),
    PrimaryKeyConstraint("space", "name"),
    comment="Single values about the store itself: embedding model and dimension, Chroma folder in use.",
)

leases = Table(
    "leases",
    metadata,
    space_column(),
    Column("name", Text, nullable=False, comment="What may be done by one at a time, such as dream."),
    Column("holder", Text, nullable=False),
    Column("fence", Integer, nullable=False, comment="Counts who has held it; a write under an older one is refused."),
    Column("until", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "name"),
    comment="Who is doing what only one may do.",
)

migrations = Table(
    "migrations",
    metadata,
    space_column(),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False, comment="Version of this package that ran it."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "position"),
    comment="The schema's history.",
)
