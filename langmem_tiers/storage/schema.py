"""The tables of a space, each with the reason it exists.

Every key starts with `space`, and every statement names it. In a SQLite file the column holds `HERE`, because the
file is the space and may be copied or renamed; a database that holds many spaces puts their names there.
Times are UTC milliseconds. Numbers count up within one space and are never used twice.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from langmem_tiers.storage.packed_text import PackedText
from langmem_tiers.storage.sealed_text import HashedText, SealedText

HERE = "."

metadata = MetaData()


def _table(name: str, *items: SchemaItem, comment: str) -> Table:
    """A table whose key is the space and the columns made by `_key`."""
    space = Column("space", Text, nullable=False)
    key = [item.name for item in items if isinstance(item, Column) and item.info.get("key")]
    return Table(name, metadata, space, *items, PrimaryKeyConstraint("space", *key), comment=comment)


def _key(name: str, kind: type[TypeEngine[Any]], comment: str | None = None) -> Column[Any]:
    """A column of the key."""
    return _column(name, kind, comment, info={"key": True})


def _column(
    name: str, kind: type[TypeEngine[Any]] | TypeEngine[Any], comment: str | None = None, **more: Any
) -> Column[Any]:
    """A NOT NULL column."""
    return Column(name, kind, nullable=False, comment=comment, **more)


def _optional(name: str, kind: type[TypeEngine[Any]] | TypeEngine[Any], comment: str | None = None) -> Column[Any]:
    """A column that may be NULL."""
    return Column(name, kind, comment=comment)


def _authorship() -> tuple[Column[Any], ...]:
    """Where a record of knowledge comes from, and who stands behind it."""
    return (
        _column("origin", Text, "user, assistant, tool, system, import, dream or quoted; set by code only."),
        _column("path", Text, "Which path made it: user, tool, rule or model."),
        _column("authority", Integer, "0 system, 1 agent, 2 said by the user, 3 user correction."),
    )


def _evidence(of: str, quote: str, *more: Column[Any], comment: str) -> Table:
    """A table of the drawers that something rests on."""
    keys = (of, "drawer", *(column.name for column in more if column.info.get("key")))
    drawer, words = _key("drawer", Integer), _column("quote", SealedText(f"{of}_evidence.quote", keys), quote)
    by_drawer = Index(f"{of}_evidence_by_drawer", "space", "drawer")
    return _table(f"{of}_evidence", _key(of, Integer), drawer, words, *more, by_drawer, comment=comment)


# The log of changes and what follows it.
changes = _table(
    "changes",
    _key("position", BigInteger),
    _column("kind", Text, "What happened, such as drawers.added; see change_log.py."),
    _column("subject", BigInteger, "Number of the record it happened to."),
    _optional("until", BigInteger, "Last number, where one change covers a run of records."),
    _optional("detail", Text, "One word more, such as the embedding model."),
    _column("at", BigInteger),
    comment="Append-only log, written in the transaction of the change itself; projections follow it.",
)

cursors = _table(
    "cursors",
    _key("name", Text, "Projection or background pass, such as embed:all-MiniLM-L6-v2."),
    _column("position", BigInteger, "Log position up to which it has been carried out."),
    comment="How far each follower of the log has come.",
)

facts = _table(
    "facts",
    _key("name", Text),
    _column("value", Text),
    comment="Single values about the store itself: embedding model and dimension, Chroma folder in use.",
)

leases = _table(
    "leases",
    _key("name", Text, "The task that only one may do at a time, such as dream."),
    _column("holder", Text),
    _column("fence", Integer, "Counts who has held it; a write under an older one is refused."),
    _column("until", BigInteger),
    comment="Who holds each exclusive task, and until when.",
)

migrations = _table(
    "migrations",
    _key("position", Integer),
    _column("name", Text),
    _column("version", Text, "Version of this package that ran it."),
    _column("at", BigInteger),
    comment="The schema's history.",
)


# Messages as they were said, and where they are filed.
wings = _table(
    "wings",
    _key("number", Integer),
    _column("slug", Text),
    _column("name", Text),
    _column("kind", Text, "project, agent, subject or general."),
    _column("origin", Text, "Which path made it: rule, model or user."),
    _column("created_at", BigInteger),
    UniqueConstraint("space", "slug"),
    comment="Subjects, the top of the palace.",
)

wing_aliases = _table(
    "wing_aliases",
    _key("slug", Text),
    _column("name", Text),
    _column("wing", Integer),
    comment="Other names of a wing, so that one subject is filed in one place.",
)

rooms = _table(
    "rooms",
    _key("number", Integer),
    _column("session", Text, "Conversation id, such as a LangGraph thread_id."),
    _column("wing", Integer, "Where it is filed now; refiling changes this."),
    _column("address_wing", Integer, "W of its pointers: the first wing, never changed."),
    _column("address_room", Integer, "R of its pointers."),
    _optional("project", Text),
    _optional("agent", Text),
    _column("opened_at", BigInteger, "When its first message was said."),
    _column("last_at", BigInteger, "When its last message was said."),
    _column("touched_at", BigInteger, "When something was last stored: idleness counts from it."),
    _optional("ended_at", BigInteger, "Explicit end; a later message opens the session again."),
    _column("drawers", Integer, "How many drawers it ever got; the next one is put at this + 1."),
    UniqueConstraint("space", "session"),
    UniqueConstraint("space", "address_wing", "address_room"),
    comment="Time slices: one session each.",
)

closets = _table(
    "closets",
    _key("number", Integer),
    _column("room", Integer),
    _column("slug", Text),
    _column("name", Text),
    _column("origin", Text, "Which path named it: rule, model or user."),
    Index("closets_by_room", "space", "room"),
    comment="Topics within a room.",
)

drawers = _table(
    "drawers",
    _key("number", Integer),
    _column("room", Integer),
    _optional("closet", Integer, "NULL until the background filing has seen it."),
    _column("place", Integer, "D of its pointer: its place in the room, never changed."),
    _column("role", Text),
    _column("origin", Text, "user, assistant, tool, system, import or dream; set by code only."),
    _optional("speaker", Text),
    _column("content", HashedText(), "Verbatim, never paraphrased."),
    _column("content_hash", LargeBinary, "BLAKE2b-128 of the content in UTF-8."),
    _column("tags", Text, "One a line: @p people, @l places, @e events, @i items, @t times."),
    _column(
        "states", Integer, "Bits: 1 it states something of its speaker, 2 a like, dislike or habit.", server_default="0"
    ),
    _column("said_at", BigInteger),
    _column("recorded_at", BigInteger),
    _optional(
        "superseded_by",
        Integer,
        "The drawer that took its place: of the edited message, or of another branch; NULL while it stands.",
    ),
    _column("recall_count", Integer, server_default="0"),
    _optional("last_recalled_at", BigInteger),
    _optional("project", Text, "What it is about; its session is filed in the wing of the first."),
    _optional("task", Text, "Id of the task it was said in."),
    UniqueConstraint("space", "room", "place"),
    comment="One verbatim message each.",
)

turns = _table(
    "turns",
    _key("session", Text),
    _key("message_id", Text),
    _key("content_hash", LargeBinary),
    _column("drawer", Integer),
    _optional("follows", Integer, "The drawer of the turn before it in its conversation, where that is known."),
    Index("turns_by_drawer", "space", "drawer"),
    comment="What has been tracked: an id with the same content is stored once, with other content it is a revision.",
)

chunks = _table(
    "chunks",
    _key("drawer", Integer),
    _key("ordinal", Integer, "0 for the first piece, statements last; drawer.ordinal is its id in Chroma."),
    _column("start", Integer, "First character of the drawer's content."),
    _column("stop", Integer, "One past its last character."),
    _column("text_hash", LargeBinary, "BLAKE2b-128 of the text that is embedded."),
    comment="Pieces of drawers, and first-person sentences in them, that get one vector each.",
)

embeddings = _table(
    "embeddings",
    _key("model", Text),
    _key("text_hash", LargeBinary),
    _column("vector", LargeBinary, "Of length 1, in two bytes a number, or float32; see embedding_cache.py."),
    comment="Embedding cache and the truth about vectors: Chroma is rebuilt from here without a model.",
)

receipts = _table(
    "receipts",
    _key("number", Integer),
    _optional("session", Text),
    _optional("message_id", Text),
    _column("query_hash", LargeBinary),
    _column("at", BigInteger),
    _column("shown", Text, "JSON list of [space, drawer, score, tokens] in the block."),
    _column("block", SealedText("receipts.block", ("number",)), "The bytes that were rendered, for repeated calls."),
    _column("body", PackedText(), "The receipt as JSON."),
    Index("receipts_by_message", "space", "session", "message_id", "number"),
    comment="What each recall saw, chose and why.",
)


# Knowledge: entries, identity, summaries of sessions, documents, and their searchable text.
entries = _table(
    "entries",
    _key("number", Integer),
    _column("id", Text, "12 characters, the name it has for agents and users."),
    _column("content", HashedText(), "A declarative sentence."),
    _column("content_hash", LargeBinary, "BLAKE2b-128 of the content in UTF-8."),
    _column("category", Text, "Parts joined by '/', such as user-preferences/timezone."),
    _column("tags", Text, "One a line."),
    _column("status", Text, "active or inactive."),
    _optional("reason", Text, "Why it is inactive: corrected, merged, expired, removed."),
    _optional("successor", Text, "Id of the entry that holds instead."),
    *_authorship(),
    _column("pinned", Integer, server_default="0"),
    _column("flags", Text, "One a line, such as instruction.", server_default=""),
    _optional("project", Text),
    _optional("agent", Text),
    _column("metadata", Text, "JSON object of the caller's own.", server_default="{}"),
    _column("created_at", BigInteger),
    _column("updated_at", BigInteger),
    _optional("expires_at", BigInteger, "When it is expected to hold no longer, where that was said."),
    _column("version", Integer, "Counts changes of what it says.", server_default="1"),
    _column("recall_count", Integer, server_default="0"),
    _optional("last_recalled_at", BigInteger),
    _optional("task", Text, "Id of the task in which it was first known."),
    UniqueConstraint("space", "id"),
    Index("entries_by_content", "space", "content_hash"),
    comment="Knowledge: facts, preferences, conventions, each with what it rests on.",
)

entry_evidence = _evidence(
    "entry",
    "Words of the drawer that say it; empty for the whole drawer.",
    _key("via", Integer, "The entry that brought it: another one after a merge."),
    comment="The drawers that an entry rests on.",
)

tombstones = _table(
    "tombstones",
    _key("kind", Text, "What was deleted: entry, quote, episode, entity, …"),
    _key("key", LargeBinary, "BLAKE2b-128 of the hash of its normalised text, under the space's own key."),
    _column("at", BigInteger),
    comment="What was deleted on purpose, so that mining does not bring it back.",
)

identities = _table(
    "identities",
    _key("version", Integer),
    _column(
        "text",
        SealedText("identities.text", ("version",)),
        "Markdown in sections, at most 1,000 characters as users see them.",
    ),
    _column("origin", Text),
    _column("at", BigInteger),
    comment="The user's core profile; the highest version stands.",
)

episodes = _table(
    "episodes",
    _key("number", Integer),
    _column("id", Text, "12 characters."),
    _column("session", Text),
    _column("compaction", Integer, "How many summaries the session had before."),
    _optional("task", Text, "Id of the task that it archives, or that all of it was said in."),
    _column("summary", SealedText("episodes.summary", ("number",))),
    _column("abstract", SealedText("episodes.abstract", ("number",)), "One sentence of about 200 characters."),
    _column("topics", SealedText("episodes.topics", ("number",)), "One a line."),
    _column("path", Text, "Which path made it: compaction, model or rule."),
    _optional("first_drawer", Integer),
    _optional("last_drawer", Integer),
    _column("created_at", BigInteger),
    _optional("expires_at", BigInteger, "NULL: kept for ever."),
    _column("recall_count", Integer, server_default="0"),
    _optional("last_recalled_at", BigInteger),
    _optional("promoted_at", BigInteger, "When a dream took it up."),
    _optional("project", Text, "The project of the task, or of all that was said."),
    UniqueConstraint("space", "id"),
    UniqueConstraint("space", "session", "compaction"),
    comment="The archive: a summary of each session or task.",
)

tasks = _table(
    "tasks",
    _key("id", Text, "Given by the caller, or 12 characters."),
    _column("title", SealedText("tasks.title", ("id",))),
    _column("status", Text, "open, completed or abandoned."),
    _optional("project", Text),
    _column("state", SealedText("tasks.state", ("id",)), "How far it has come; empty once it is archived."),
    _column("version", Integer, "Counts changes.", server_default="1"),
    _optional("episode", Text, "Id of the episode that archives it."),
    _column("created_at", BigInteger),
    _column("updated_at", BigInteger),
    _optional("closed_at", BigInteger, "When it was completed or abandoned; NULL while it is open."),
    comment="What is being done, by users and agents.",
)

documents = _table(
    "documents",
    _key("path", Text, "Such as MEMORY.md or memory/2026-03-02.md."),
    _column("content", SealedText("documents.content", ("path",))),
    _column("origin", Text),
    _column("version", Integer),
    _column("updated_at", BigInteger),
    comment="Notes in an agent's folder; Markdown is searched, other files are kept.",
)

notes = _table(
    "notes",
    _key("number", Integer),
    _column("kind", Text, "entry, episode, document, item, value or working."),
    _column("ref", Text, "Id of an entry or episode, path of a document, place of an item, key in working memory."),
    _column("ordinal", Integer, "0 for the first piece of a document."),
    _column("text", HashedText("text_hash"), "What is searched and embedded."),
    _column("tags", Text, "Searched by words only, as is the category.", server_default=""),
    _column("category", Text, server_default=""),
    _column("text_hash", LargeBinary, "BLAKE2b-128 of the text, the key of its vector."),
    UniqueConstraint("space", "kind", "ref", "ordinal"),
    comment="The searched text of everything that is no drawer; made from the records, and again when they change.",
)


# The temporal knowledge graph.
_MERGED = text("merged_into IS NOT NULL")
entities = _table(
    "entities",
    _key("number", Integer),
    _column("id", Text, "12 characters, the name it has for agents and users."),
    _column("name", SealedText("entities.name", ("number",))),
    _column("slug", Text, "The name as it is compared; several may share one."),
    _column("type", Text, "person, organisation, place, project, item, event, topic, other, or own."),
    *_authorship(),
    _column("metadata", Text, "JSON object of the caller's own.", server_default="{}"),
    _column("first_seen", BigInteger, "When it was first spoken of."),
    _column("last_seen", BigInteger),
    _column("created_at", BigInteger),
    _column("updated_at", BigInteger),
    _optional("merged_into", Integer, "The entity that it is the same as; NULL while it stands for itself."),
    UniqueConstraint("space", "id"),
    Index("entities_by_slug", "space", "slug"),
    Index("entities_by_merge", "space", "merged_into", sqlite_where=_MERGED, postgresql_where=_MERGED),
    comment="Who and what is spoken of: the nodes of the graph.",
)

entity_aliases = _table(
    "entity_aliases",
    _key("entity", Integer),
    _key("slug", Text),
    _column("name", SealedText("entity_aliases.name", ("entity", "slug"))),
    _column("at", BigInteger),
    Index("entity_aliases_by_slug", "space", "slug"),
    comment="Other names of an entity, also such as 'my sister'.",
)

entity_evidence = _evidence(
    "entity",
    "Words of the drawer that name it; empty for the whole drawer.",
    comment="The drawers that an entity is spoken of in.",
)

entity_merges = _table(
    "entity_merges",
    _key("number", Integer),
    _column("source", Integer, "The entity that was found to be the same as target."),
    _column("target", Integer),
    _column("reason", Text),
    _column("path", Text, "Which path merged them: user, tool, rule or model."),
    _column("at", BigInteger),
    _optional("undone_at", BigInteger, "When it was undone; NULL while it stands."),
    Index("entity_merges_by_source", "space", "source"),
    comment="Merges of entities. Relations keep naming the source, so each merge can be undone.",
)

entity_pairs = _table(
    "entity_pairs",
    _key("low", Integer, "The lower number of the two."),
    _key("high", Integer),
    _column("status", Text, "flagged: may be the same; apart: are not, somebody said so."),
    _column("score", Integer, "How like they are, 0 to 100."),
    _column("reason", Text),
    _column("at", BigInteger),
    comment="Pairs of entities that may be the same, for the dream or the user, and those that are not.",
)

relations = _table(
    "relations",
    _key("number", Integer),
    _column("id", Text, "12 characters."),
    _column("subject", Integer, "Entity as it was named; merges are followed when it is read."),
    _column("predicate", Text, "Normalised, such as works_at."),
    _column("said", SealedText("relations.said", ("number",)), "The predicate in the words that were used."),
    _optional("object", Integer, "Entity; NULL for a literal value."),
    _optional(
        "value", SealedText("relations.value", ("number",)), "Literal value as text; NULL where object is an entity."
    ),
    _optional("unit", Text, "Of a literal value, such as Ah."),
    _column("kind", Text, "stated, or mentioned: spoken of together, and no more."),
    *_authorship(),
    _column("confidence", Integer, "0 to 100."),
    _column("created_at", BigInteger),
    UniqueConstraint("space", "id"),
    Index("relations_by_subject", "space", "subject", "predicate", "object", "value"),
    Index("relations_by_object", "space", "object"),
    comment="What relates entities to each other and to values: the edges of the graph.",
)

relation_versions = _table(
    "relation_versions",
    _key("relation", Integer),
    _key("version", Integer, "From 1; the highest is what is believed now."),
    _optional("valid_from", BigInteger, "Since when it holds; NULL: nobody knows since when."),
    _optional("valid_to", BigInteger, "The first moment that it does not hold; NULL: it holds still."),
    _column("from_unit", Text, "How exact: year, month, day or moment."),
    _column("to_unit", Text),
    _column("from_stated", Integer, "1 where valid_from was stated, 0 where it is a turn's date."),
    _optional("stated_to", BigInteger, "valid_to as it was stated, NULL where none was: what comes next ends it."),
    _column("recorded_at", BigInteger, "Since when this is believed."),
    _optional("until", BigInteger, "Until when this was believed; NULL while it is. The only value ever set later."),
    _column("reason", Text, "said, succeeded, …; see VersionReason."),
    _optional("cause", Integer, "The relation that made this version."),
    comment="When each relation holds, as it was believed over time; withdrawn if the last version has an until.",
)

relation_evidence = _evidence(
    "relation",
    "Words of the drawer that say it; empty for the whole drawer.",
    _column("at", BigInteger),
    comment="The drawers that a relation rests on.",
)


# What tells texts that were altered outside this package.
seals = _table(
    "seals",
    _key("kind", Text, "The table and column of the text."),
    _key("ref", Text, "The key of its row."),
    _column("digest", LargeBinary, "BLAKE2b-128 of the text in UTF-8."),
    comment="Hashes of stored words that have none in their own row; see seals.py.",
)


# Dreams, what they changed, and the golden questions that they must not make worse.
dreams = _table(
    "dreams",
    _key("number", Integer),
    _column("id", Text, "12 characters."),
    _column("status", Text, "applied, nothing, gated, previewed, undone, failed; see DreamStatus."),
    _column("fence", Integer, "Number of the lease it was dreamt under."),
    _column("started_at", BigInteger),
    _optional("finished_at", BigInteger),
    _optional("undone_at", BigInteger),
    _column("report", Text, "JSON: what was decided, refused and why, and what it cost."),
    _optional("saw", BigInteger, "Of a preview only: the log position of what it saw."),
    _optional("turns_upto", BigInteger, "Of a preview only: the last drawer it read."),
    UniqueConstraint("space", "id"),
    comment="Consolidations of the space, each of which can be undone.",
)

changesets = _table(
    "changesets",
    _key("dream", Integer),
    _key("ordinal", Integer),
    _column("table_name", Text),
    _column("key", Text, "JSON object of the primary key."),
    _optional(
        "before",
        SealedText("changesets.before", ("dream", "ordinal")),
        "JSON object of the row; NULL where there was none.",
    ),
    _optional(
        "after",
        SealedText("changesets.after", ("dream", "ordinal")),
        "JSON object of the row; NULL where there is none.",
    ),
    comment="The rows that a dream changed, as they were and as they became.",
)

golden_questions = _table(
    "golden_questions",
    _key("number", Integer),
    _column("question", Text),
    _column("expects", Text, "JSON: words that the block must hold, or drawers in it."),
    _column("at", BigInteger),
    comment="Questions of the user that a dream must not make worse.",
)


# What the memory did, what it cost, and how far mining has come.
activities = _table(
    "activities",
    _key("number", Integer),
    _column("at", BigInteger),
    _column("kind", Text, "Such as memory_mined."),
    _optional("session", Text),
    _column("body", Text, "JSON: what was kept, merged or refused, and why."),
    comment="What the memory did on its own, for its user to see.",
)

usages = _table(
    "usages",
    _key("day", Text, "YYYY-MM-DD, UTC."),
    _key("session", Text, "Empty where it belongs to none."),
    _key("source", Text, "Such as memory_extract."),
    _key("model", Text),
    _column("calls", Integer),
    _column("failures", Integer),
    _column("input_tokens", BigInteger),
    _column("output_tokens", BigInteger),
    _column("cost_micros", BigInteger, "Millionths of the currency of the settings' prices."),
    comment="What models took, by day, session, source and model.",
)

mined_windows = _table(
    "mined_windows",
    _key("room", Integer),
    _key("first_place", Integer),
    _column("last_place", Integer),
    _column("path", Text, "rule, model, or again: by rule until the model can be reached."),
    _column("at", BigInteger),
    comment="Which turns have been mined, so that none is mined twice.",
)

proposals = _table(
    "proposals",
    _key("number", Integer),
    _column("kind", Text, "entity or relation."),
    _column("body", Text, "JSON, as mining found it."),
    _column("drawer", Integer),
    _column("quote", Text),
    _column("path", Text),
    _column("at", BigInteger),
    comment="Entities and relations that mining found, for the graph to take up.",
)

revisions = _table(
    "revisions",
    _key("drawer", Integer),
    _key("start", Integer, "Where the sentence begins in the drawer."),
    _column("stop", Integer),
    _column("body", Text, "JSON: what it says is over, or is so by now; see language/revisions.py."),
    comment="Sentences of users that end, change or take back something said before.",
)


# Items of a LangGraph store over the memory.
store_items = _table(
    "store_items",
    _key("namespace", Text, "Labels joined by '.', which none of them holds."),
    _key("key", Text),
    _column("value", SealedText("store_items.value", ("namespace", "key")), "JSON object."),
    _column("created_at", BigInteger),
    _column("updated_at", BigInteger),
    _column("changed", BigInteger, "Log position: orders what changed in one millisecond."),
    _optional("ttl", BigInteger, "Milliseconds that it is kept after it was written or read; NULL: for ever."),
    _optional("expires_at", BigInteger),
    Index("store_items_by_expiry", "space", "expires_at"),
    comment="Items of a key-value store, for agents that bring one; their searched text is in the notes.",
)


working_entries = _table(
    "working_entries",
    _key("key", Text, "Its full path, such as session/abc123/inbox."),
    _column("namespace", Text, "The first two parts of the path: who writes there."),
    _column("value", SealedText("working_entries.value", ("key",))),
    _column("characters", Integer, "How many the value has, so that lists need not read it.", server_default="0"),
    _column("cuts", Text, "JSON list of the characters at which a long value is cut into parts; [] for a short one."),
    _optional("category", Text),
    _column("tags", Text, "One a line."),
    _column("stored_at", BigInteger),
    _column("expires_at", BigInteger),
    Index("working_entries_by_namespace", "space", "namespace", "expires_at"),
    Index("working_entries_by_expiry", "space", "expires_at"),
    Index("working_entries_by_storing", "space", "stored_at"),
    comment="Working memory: scratch space of sessions, patrols and subagents; their searched text is in the notes.",
)


feedback_signals = _table(
    "feedback_signals",
    _key("number", Integer),
    _column("kind", Text, "correction, wrong, irritation or praise."),
    _column("strength", Text, "casual, mildly_frustrated or very_irritated."),
    _optional("drawer", Integer, "The message that shows it, or that it is about."),
    _optional("session", Text),
    _column("note", Text, "What whoever recorded it says of it; may be empty."),
    _column("origin", Text, "user, agent or model."),
    _column("at", BigInteger),
    Index("feedback_signals_by_time", "space", "at"),
    comment="Feedback that was recorded; what the rules hear is read from the messages.",
)
