"""The temporal knowledge graph."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, PrimaryKeyConstraint, Table, Text, UniqueConstraint, text

from langmem_tiers.storage.schema.base import metadata, space_column

entities = Table(
    "entities",
    metadata,
    space_column(),
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
    space_column(),
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
    space_column(),
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
    space_column(),
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
    space_column(),
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
    space_column(),
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
    space_column(),
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
    space_column(),
    Column("relation", Integer, nullable=False),
    Column("drawer", Integer, nullable=False),
    Column("quote", Text, nullable=False, comment="Words of the drawer that say it; empty for the whole drawer."),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "relation", "drawer"),
    Index("relation_evidence_by_drawer", "space", "drawer"),
    comment="The drawers that a relation rests on.",
)
