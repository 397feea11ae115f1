"""What the memory did, what it cost, and how far mining has come."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Table, Text

from langmem_tiers.storage.schema.base import metadata, space_column

activities = Table(
    "activities",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False, comment="Such as memory_mined."),
    Column("session", Text),
    Column("body", Text, nullable=False, comment="JSON: what was kept, merged or refused, and why."),
    PrimaryKeyConstraint("space", "number"),
    comment="What the memory did by itself, for its user to see.",
)

usages = Table(
    "usages",
    metadata,
    space_column(),
    Column("day", Text, nullable=False, comment="YYYY-MM-DD, UTC."),
    Column("session", Text, nullable=False, comment="Empty where it belongs to none."),
    Column("source", Text, nullable=False, comment="Such as memory_extract."),
    Column("model", Text, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost_micros", BigInteger, nullable=False, comment="Millionths of the currency of the settings' prices."),
    PrimaryKeyConstraint("space", "day", "session", "source", "model"),
    comment="What models took, by day, session, source and model.",
)

mined_windows = Table(
    "mined_windows",
    metadata,
    space_column(),
    Column("room", Integer, nullable=False),
    Column("first_place", Integer, nullable=False),
    Column("last_place", Integer, nullable=False),
    Column("path", Text, nullable=False, comment="rule, model, or again: by rule until the model can be reached."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "room", "first_place"),
    comment="Which turns have been mined, so that none is mined twice.",
)

proposals = Table(
    "proposals",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("kind", Text, nullable=False, comment="entity or relation."),
    Column("body", Text, nullable=False, comment="JSON, as mining found it."),
    Column("drawer", Integer, nullable=False),
    Column("quote", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "number"),
    comment="Entities and relations that mining found, for the graph to take up.",
)
