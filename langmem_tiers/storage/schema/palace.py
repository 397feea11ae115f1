"""Messages as they were said, and where they are filed."""

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

wings = Table(
    "wings",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False, comment="project, agent, subject or general."),
    Column("origin", Text, nullable=False, comment="Which path made it: rule, model or user."),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "slug"),
    comment="Subjects, the top of the palace.",
)

wing_aliases = Table(
    "wing_aliases",
    metadata,
    space_column(),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("wing", Integer, nullable=False),
    PrimaryKeyConstraint("space", "slug"),
    comment="Other names of a wing, so that one subject is filed in one place.",
)

rooms = Table(
    "rooms",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("session", Text, nullable=False, comment="Conversation id, such as a LangGraph thread_id."),
    Column("wing", Integer, nullable=False, comment="Where it is filed now; refiling changes this."),
    Column("address_wing", Integer, nullable=False, comment="W of its pointers: the first wing, never changed."),
    Column("address_room", Integer, nullable=False, comment="R of its pointers."),
    Column("project", Text),
    Column("agent", Text),
    Column("opened_at", BigInteger, nullable=False, comment="When its first message was said."),
    Column("last_at", BigInteger, nullable=False, comment="When its last message was said."),
    Column(
        "touched_at", BigInteger, nullable=False, comment="When something was last stored: idleness counts from it."
    ),
    Column("ended_at", BigInteger, comment="Explicit end; a later message opens the session again."),
    Column("drawers", Integer, nullable=False, comment="How many drawers were ever put in; the next gets this + 1."),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "session"),
    UniqueConstraint("space", "address_wing", "address_room"),
    comment="Time slices: one session each.",
)

closets = Table(
    "closets",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("room", Integer, nullable=False),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("origin", Text, nullable=False, comment="Which path named it: rule, model or user."),
    PrimaryKeyConstraint("space", "number"),
    Index("closets_by_room", "space", "room"),
    comment="Topics within a room.",
)

drawers = Table(
    "drawers",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("room", Integer, nullable=False),
    Column("closet", Integer, comment="NULL until the background filing has seen it."),
    Column("place", Integer, nullable=False, comment="D of its pointer: its place in the room, never changed."),
    Column("role", Text, nullable=False),
    Column("origin", Text, nullable=False, comment="user, assistant, tool, system, import or dream; set by code only."),
    Column("speaker", Text),
    Column("content", Text, nullable=False, comment="Verbatim, never paraphrased."),
    Column("content_hash", LargeBinary, nullable=False, comment="BLAKE2b-128 of the content in UTF-8."),
    Column("tags", Text, nullable=False, comment="One a line: @p people, @l places, @e events, @i items, @t times."),
    Column(
        "states",
        Integer,
        nullable=False,
        server_default="0",
        comment="Bits: 1 it states something of its speaker, 2 a like, dislike or habit.",
    ),
    Column("said_at", BigInteger, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("superseded_by", Integer, comment="The drawer of the edited message; NULL while it stands."),
    Column("recall_count", Integer, nullable=False, server_default="0"),
    Column("last_recalled_at", BigInteger),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "room", "place"),
    comment="One verbatim message each.",
)

turns = Table(
    "turns",
    metadata,
    space_column(),
    Column("session", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("drawer", Integer, nullable=False),
    PrimaryKeyConstraint("space", "session", "message_id", "content_hash"),
    Index("turns_by_drawer", "space", "drawer"),
    comment="What has been tracked: an id with the same content is stored once, with other content it is a revision.",
)

chunks = Table(
    "chunks",
    metadata,
    space_column(),
    Column("drawer", Integer, nullable=False),
    Column(
        "ordinal",
        Integer,
        nullable=False,
        comment="0 for the first piece, statements last; drawer.ordinal is its id in Chroma.",
    ),
    Column("start", Integer, nullable=False, comment="First character of the drawer's content."),
    Column("stop", Integer, nullable=False, comment="One past its last character."),
    Column("text_hash", LargeBinary, nullable=False, comment="BLAKE2b-128 of the text that is embedded."),
    PrimaryKeyConstraint("space", "drawer", "ordinal"),
    comment="Pieces of drawers, and first-person sentences in them, that get one vector each.",
)

embeddings = Table(
    "embeddings",
    metadata,
    space_column(),
    Column("model", Text, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    Column("vector", LargeBinary, nullable=False, comment="float32, little-endian, of length 1."),
    PrimaryKeyConstraint("space", "model", "text_hash"),
    comment="Embedding cache and the truth about vectors: Chroma is rebuilt from here without a model.",
)

receipts = Table(
    "receipts",
    metadata,
    space_column(),
    Column("number", Integer, nullable=False),
    Column("session", Text),
    Column("message_id", Text),
    Column("query_hash", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("shown", Text, nullable=False, comment="JSON list of [space, drawer, score, tokens] in the block."),
    Column("block", Text, nullable=False, comment="The bytes that were rendered, for repeated calls."),
    Column("body", Text, nullable=False, comment="The receipt as JSON."),
    PrimaryKeyConstraint("space", "number"),
    Index("receipts_by_message", "space", "session", "message_id", "number"),
    comment="What each recall saw, chose and why.",
)
