"""What is known: entries, identity, summaries of sessions, documents, and their searched text."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from langmem_tiers.storage.schema.base import metadata, space_column

entries = Table(
    "entries",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("id", Text, nullable=False, comment="12 characters, the name it has for agents and users."),
    Column("content", Text, nullable=False, comment="A declarative sentence."),
    Column("content_hash", LargeBinary, nullable=False, comment="BLAKE2b-128 of the content in UTF-8."),
    Column("category", Text, nullable=False, comment="Parts joined by '/', such as user-preferences/timezone."),
    Column("tags", Text, nullable=False, comment="One a line."),
    Column("status", Text, nullable=False, comment="active or inactive."),
    Column("reason", Text, comment="Why it is inactive: corrected, merged, expired, removed."),
    Column("successor", Text, comment="Id of the entry that holds instead."),
    Column("origin", Text, nullable=False, comment="user, assistant, tool, system, import or dream; set by code only."),
    Column("path", Text, nullable=False, comment="Which path made it: user, tool, rule or model."),
    Column("authority", Integer, nullable=False, comment="0 system, 1 agent, 2 said by the user, 3 user correction."),
    Column("pinned", Integer, nullable=False, server_default="0"),
    Column("flags", Text, nullable=False, server_default="", comment="One a line, such as instruction."),
    Column("project", Text),
    Column("agent", Text),
    Column("metadata", Text, nullable=False, server_default="{}", comment="JSON object of the caller's own."),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, comment="When it is expected to hold no longer, where that was said."),
    Column("version", Integer, nullable=False, server_default="1", comment="Counts changes of what it says."),
    Column("recall_count", Integer, nullable=False, server_default="0"),
    Column("last_recalled_at", BigInteger),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "id"),
    Index("entries_by_content", "space", "content_hash"),
    comment="Knowledge: facts, preferences, conventions, each with what it rests on.",
)

entry_evidence = Table(
    "entry_evidence",
    metadata,
    space_column(),
    Column("entry", Integer, nullable=False),
    Column("drawer", Integer, nullable=False),
    Column("quote", Text, nullable=False, comment="Words of the drawer that say it; empty for the whole drawer."),
    Column("via", Integer, nullable=False, comment="The entry that brought it: another one after a merge."),
    PrimaryKeyConstraint("space", "entry", "drawer", "via"),
    Index("entry_evidence_by_drawer", "space", "drawer"),
    comment="The drawers that an entry rests on.",
)

tombstones = Table(
    "tombstones",
    metadata,
    space_column(),
    Column("kind", Text, nullable=False, comment="What was deleted: entry, quote, episode, entity, …"),
    Column("key", LargeBinary, nullable=False, comment="BLAKE2b-128 of its normalised text."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "kind", "key"),
    comment="What was deleted on purpose, so that mining does not bring it back.",
)

identities = Table(
    "identities",
    metadata,
    space_column(),
    Column("version", Integer, nullable=False),
    Column("text", Text, nullable=False, comment="Markdown in sections, at most 1,000 characters as users see them."),
    Column("origin", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "version"),
    comment="The user's core profile; the highest version stands.",
)

episodes = Table(
    "episodes",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("id", Text, nullable=False, comment="12 characters."),
    Column("session", Text, nullable=False),
    Column("compaction", Integer, nullable=False, comment="How many summaries the session had before."),
    Column("task", Text, comment="The task whose working state it archives."),
    Column("summary", Text, nullable=False),
    Column("abstract", Text, nullable=False, comment="One sentence of about 200 characters."),
    Column("topics", Text, nullable=False, comment="One a line."),
    Column("path", Text, nullable=False, comment="Which path made it: compaction, model or rule."),
    Column("first_drawer", Integer),
    Column("last_drawer", Integer),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, comment="NULL: kept for ever."),
    Column("recall_count", Integer, nullable=False, server_default="0"),
    Column("last_recalled_at", BigInteger),
    Column("promoted_at", BigInteger, comment="When a dream took it up."),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "id"),
    UniqueConstraint("space", "session", "compaction"),
    comment="The archive: a summary of each session or task.",
)

documents = Table(
    "documents",
    metadata,
    space_column(),
    Column("path", Text, nullable=False, comment="Such as MEMORY.md or memory/2026-03-02.md."),
    Column("content", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "path"),
    comment="Notes in an agent's folder; Markdown is searched, other files are kept.",
)

notes = Table(
    "notes",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("kind", Text, nullable=False, comment="entry, episode, document, item or value."),
    Column("ref", Text, nullable=False, comment="Id of the entry or episode, path of the document, place of the item."),
    Column("ordinal", Integer, nullable=False, comment="0 for the first piece of a document."),
    Column("text", Text, nullable=False, comment="What is searched and embedded."),
    Column("tags", Text, nullable=False, server_default="", comment="Searched by words only, as is the category."),
    Column("category", Text, nullable=False, server_default=""),
    Column("text_hash", LargeBinary, nullable=False, comment="BLAKE2b-128 of the text, the key of its vector."),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "kind", "ref", "ordinal"),
    comment="The searched text of everything that is no drawer; made from the records, and again when they change.",
)
