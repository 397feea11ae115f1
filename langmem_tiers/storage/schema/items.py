"""What a LangGraph store over the memory holds."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text

from langmem_tiers.storage.schema.base import metadata, space_column

store_items = Table(
    "store_items",
    metadata,
    space_column(),
    Column("namespace", Text, nullable=False, comment="Labels joined by '.', which none of them holds."),
    Column("key", Text, nullable=False),
    Column("value", Text, nullable=False, comment="JSON object."),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("changed", BigInteger, nullable=False, comment="Log position: orders what changed in one millisecond."),
    Column("ttl", BigInteger, comment="Milliseconds that it is kept after it was written or read; NULL: for ever."),
    Column("expires_at", BigInteger),
    PrimaryKeyConstraint("space", "namespace", "key"),
    Index("store_items_by_expiry", "space", "expires_at"),
    comment="Items of a key-value store, for agents that bring one; their searched text is in the notes.",
)
