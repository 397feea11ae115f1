"""The tables of a space, each with the reason it exists.

Every key starts with `space`, and every statement names it. In a SQLite file the column holds `HERE`, because the
file is the space and may be copied or renamed; a database that holds many spaces puts their names there.
Times are UTC milliseconds. Numbers count up within one space and are never used twice.
"""

from __future__ import annotations

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

HERE = "."

metadata = MetaData()


def _space() -> Column[str]:
    return Column("space", Text, nullable=False)


changes = Table(
    "changes",
    metadata,
    _space(),
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
    _space(),
    Column("name", Text, nullable=False, comment="Projection or background pass, such as embed:all-MiniLM-L6-v2."),
    Column("position", BigInteger, nullable=False, comment="Log position up to which it has been carried out."),
    PrimaryKeyConstraint("space", "name"),
    comment="How far each follower of the log has come.",
)

facts = Table(
    "facts",
    metadata,
    _space(),
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False),
    PrimaryKeyConstraint("space", "name"),
    comment="Single values about the store itself: embedding model and dimension, Chroma folder in use.",
)

wings = Table(
    "wings",
    metadata,
    _space(),
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
    _space(),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("wing", Integer, nullable=False),
    PrimaryKeyConstraint("space", "slug"),
    comment="Other names of a wing, so that one subject is filed in one place.",
)

rooms = Table(
    "rooms",
    metadata,
    _space(),
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
    _space(),
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
    _space(),
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
    _space(),
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
    _space(),
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
    _space(),
    Column("model", Text, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    Column("vector", LargeBinary, nullable=False, comment="float32, little-endian, of length 1."),
    PrimaryKeyConstraint("space", "model", "text_hash"),
    comment="Embedding cache and the truth about vectors: Chroma is rebuilt from here without a model.",
)

receipts = Table(
    "receipts",
    metadata,
    _space(),
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

entries = Table(
    "entries",
    metadata,
    _space(),
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
    _space(),
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
    _space(),
    Column("kind", Text, nullable=False, comment="What was deleted: entry, quote, episode, entity, …"),
    Column("key", LargeBinary, nullable=False, comment="BLAKE2b-128 of its normalised text."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "kind", "key"),
    comment="What was deleted on purpose, so that mining does not bring it back.",
)

identities = Table(
    "identities",
    metadata,
    _space(),
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
    _space(),
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
    _space(),
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
    _space(),
    Column("number", Integer, nullable=False),
    Column("kind", Text, nullable=False, comment="entry, episode or document."),
    Column("ref", Text, nullable=False, comment="Id of the entry or episode, path of the document."),
    Column("ordinal", Integer, nullable=False, comment="0 for the first piece of a document."),
    Column("text", Text, nullable=False, comment="What is searched and embedded."),
    Column("tags", Text, nullable=False, server_default="", comment="Searched by words only, as is the category."),
    Column("category", Text, nullable=False, server_default=""),
    Column("text_hash", LargeBinary, nullable=False, comment="BLAKE2b-128 of the text, the key of its vector."),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "kind", "ref", "ordinal"),
    comment="The searched text of everything that is no drawer; made from the records, and again when they change.",
)

activities = Table(
    "activities",
    metadata,
    _space(),
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
    _space(),
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
    _space(),
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
    _space(),
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

entities = Table(
    "entities",
    metadata,
    _space(),
    Column("number", Integer, nullable=False),
    Column("id", Text, nullable=False, comment="12 characters, the name it has for agents and users."),
    Column("name", Text, nullable=False),
    Column("slug", Text, nullable=False, comment="The name as it is compared; several may share one."),
    Column(
        "type", Text, nullable=False, comment="person, organisation, place, project, item, event, topic, other, or own."
    ),
    Column("origin", Text, nullable=False, comment="user, assistant, tool, system, import or dream; set by code only."),
    Column("path", Text, nullable=False, comment="Which path made it: user, tool, rule or model."),
    Column("authority", Integer, nullable=False, comment="0 system, 1 agent, 2 said by the user, 3 user correction."),
    Column("metadata", Text, nullable=False, server_default="{}", comment="JSON object of the caller's own."),
    Column("first_seen", BigInteger, nullable=False, comment="When it was first spoken of."),
    Column("last_seen", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("merged_into", Integer, comment="The entity that it is the same as; NULL while it stands for itself."),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "id"),
    Index("entities_by_slug", "space", "slug"),
    Index("entities_by_merge", "space", "merged_into", sqlite_where=text("merged_into IS NOT NULL")),
    comment="Who and what is spoken of: the nodes of the graph.",
)

entity_aliases = Table(
    "entity_aliases",
    metadata,
    _space(),
    Column("entity", Integer, nullable=False),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "entity", "slug"),
    Index("entity_aliases_by_slug", "space", "slug"),
    comment="Other names of an entity, also such as 'my sister'.",
)

entity_evidence = Table(
    "entity_evidence",
    metadata,
    _space(),
    Column("entity", Integer, nullable=False),
    Column("drawer", Integer, nullable=False),
    Column("quote", Text, nullable=False, comment="Words of the drawer that name it; empty for the whole drawer."),
    PrimaryKeyConstraint("space", "entity", "drawer"),
    Index("entity_evidence_by_drawer", "space", "drawer"),
    comment="The drawers that an entity is spoken of in.",
)

entity_merges = Table(
    "entity_merges",
    metadata,
    _space(),
    Column("number", Integer, nullable=False),
    Column("source", Integer, nullable=False, comment="The entity that was found to be the same as target."),
    Column("target", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("path", Text, nullable=False, comment="Which path merged them: user, tool, rule or model."),
    Column("at", BigInteger, nullable=False),
    Column("undone_at", BigInteger, comment="When it was undone; NULL while it stands."),
    PrimaryKeyConstraint("space", "number"),
    Index("entity_merges_by_source", "space", "source"),
    comment="Merges of entities, each of which can be undone with its relations: those keep naming the source.",
)

entity_pairs = Table(
    "entity_pairs",
    metadata,
    _space(),
    Column("low", Integer, nullable=False, comment="The lower number of the two."),
    Column("high", Integer, nullable=False),
    Column("status", Text, nullable=False, comment="flagged: may be the same; apart: are not, somebody said so."),
    Column("score", Integer, nullable=False, comment="How like they are, 0 to 100."),
    Column("reason", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "low", "high"),
    comment="Pairs of entities that may be the same, for the dream or the user, and those that are not.",
)

relations = Table(
    "relations",
    metadata,
    _space(),
    Column("number", Integer, nullable=False),
    Column("id", Text, nullable=False, comment="12 characters."),
    Column("subject", Integer, nullable=False, comment="Entity, as it was when this was said: merges are followed."),
    Column("predicate", Text, nullable=False, comment="Normalised, such as works_at."),
    Column("said", Text, nullable=False, comment="The predicate in the words that were used."),
    Column("object", Integer, comment="Entity; NULL for a literal value."),
    Column("value", Text, comment="Literal value as text; NULL where object is an entity."),
    Column("unit", Text, comment="Of a literal value, such as Ah."),
    Column("kind", Text, nullable=False, comment="stated, or mentioned: spoken of together, and no more."),
    Column("origin", Text, nullable=False, comment="user, assistant, tool, system, import or dream; set by code only."),
    Column("path", Text, nullable=False, comment="Which path made it: user, tool, rule or model."),
    Column("authority", Integer, nullable=False, comment="0 system, 1 agent, 2 said by the user, 3 user correction."),
    Column("confidence", Integer, nullable=False, comment="0 to 100."),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "id"),
    Index("relations_by_subject", "space", "subject", "predicate", "object", "value"),
    Index("relations_by_object", "space", "object"),
    comment="What relates entities to each other and to values: the edges of the graph.",
)

relation_versions = Table(
    "relation_versions",
    metadata,
    _space(),
    Column("relation", Integer, nullable=False),
    Column("version", Integer, nullable=False, comment="From 1; the highest is what is believed now."),
    Column("valid_from", BigInteger, comment="Since when it holds; NULL: nobody knows since when."),
    Column("valid_to", BigInteger, comment="The first moment that it does not hold; NULL: it holds still."),
    Column("from_unit", Text, nullable=False, comment="How exact: year, month, day or moment."),
    Column("to_unit", Text, nullable=False),
    Column(
        "from_stated", Integer, nullable=False, comment="1 where valid_from was stated, 0 where it is a turn's date."
    ),
    Column("stated_to", BigInteger, comment="valid_to as it was stated, NULL where none was: what comes next ends it."),
    Column("recorded_at", BigInteger, nullable=False, comment="Since when this is believed."),
    Column(
        "until", BigInteger, comment="Until when this was believed; NULL while it is. The only value ever set later."
    ),
    Column("reason", Text, nullable=False, comment="said, succeeded, …; see VersionReason."),
    Column("cause", Integer, comment="The relation that made this version."),
    PrimaryKeyConstraint("space", "relation", "version"),
    comment="When a relation holds, and what was believed of that when. Withdrawn: the last version has an until.",
)

relation_evidence = Table(
    "relation_evidence",
    metadata,
    _space(),
    Column("relation", Integer, nullable=False),
    Column("drawer", Integer, nullable=False),
    Column("quote", Text, nullable=False, comment="Words of the drawer that say it; empty for the whole drawer."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "relation", "drawer"),
    Index("relation_evidence_by_drawer", "space", "drawer"),
    comment="The drawers that a relation rests on.",
)

dreams = Table(
    "dreams",
    metadata,
    _space(),
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
    _space(),
    Column("dream", Integer, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("key", Text, nullable=False, comment="JSON object of the primary key."),
    Column("before", Text, comment="JSON object of the row; NULL where there was none."),
    Column("after", Text, comment="JSON object of the row; NULL where there is none."),
    PrimaryKeyConstraint("space", "dream", "ordinal"),
    comment="The rows that a dream changed, as they were and as they became.",
)

leases = Table(
    "leases",
    metadata,
    _space(),
    Column("name", Text, nullable=False, comment="What may be done by one at a time, such as dream."),
    Column("holder", Text, nullable=False),
    Column("fence", Integer, nullable=False, comment="Counts who has held it; a write under an older one is refused."),
    Column("until", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "name"),
    comment="Who is doing what only one may do.",
)

golden_questions = Table(
    "golden_questions",
    metadata,
    _space(),
    Column("number", Integer, nullable=False),
    Column("question", Text, nullable=False),
    Column("expects", Text, nullable=False, comment="JSON: words that the block must hold, or drawers in it."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "number"),
    comment="Questions of the user that a dream must not make worse.",
)

migrations = Table(
    "migrations",
    metadata,
    _space(),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False, comment="Version of this package that ran it."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "position"),
    comment="The schema's history.",
)
