"""Dreams, what they changed, and the questions that they may not make worse."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Table, Text, UniqueConstraint

from langmem_tiers.storage.schema.base import metadata, space_column

dreams = Table(
    "dreams",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("id", Text, nullable=False, comment="12 characters."),
    Column("status", Text, nullable=False, comment="applied, nothing, gated, undone, failed; see DreamStatus."),
    Column("fence", Integer, nullable=False, comment="Number of the lease it was dreamt under."),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("undone_at", BigInteger),
    Column("report", Text, nullable=False, comment="JSON: what was decided, refused and why, and what it cost."),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "id"),
    comment="Consolidations of the space, each of which can be undone.",
)

changesets = Table(
    "changesets",
    metadata,
    space_column(),
    Column("dream", Integer, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("key", Text, nullable=False, comment="JSON object of the primary key."),
    Column("before", Text, comment="JSON object of the row; NULL where there was none."),
    Column("after", Text, comment="JSON object of the row; NULL where there is none."),
    PrimaryKeyConstraint("space", "dream", "ordinal"),
    comment="The rows that a dream changed, as they were and as they became.",
)

golden_questions = Table(
    "golden_questions",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("question", Text, nullable=False),
    Column("expects", Text, nullable=False, comment="JSON: words that the block must hold, or drawers in it."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "number"),
    comment="Questions of the user that a dream must not make worse.",
)
