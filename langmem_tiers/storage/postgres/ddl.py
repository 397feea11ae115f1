"""What a PostgreSQL schema holds: the tables, their partitions, the stems of words, and who sees which rows."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    false,
    text,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from langmem_tiers.storage import schema
from langmem_tiers.storage.changesets import TABLES
from langmem_tiers.storage.packed_text import PackedText

SPACE_SETTING = "langmem_tiers.space"
"""The setting of a transaction that names its space: only rows of it are seen, where the role allows such a rule."""
RECORDING = "langmem_tiers.recording"
"""The setting of a transaction in which changed rows are noted."""
PARTITIONS = 16
# Tables that grow with what is said are split by space.
_LARGE = (
    *("drawers", "turns", "chunks", "embeddings", "changes", "receipts", "notes", "seals"),
    *("keyword", "keyword_postings", "note_words", "note_words_postings"),
)
# Ordered by bytes, as in a file; a server may order by the rules of a language.
_TEXT = Text(collation="C")

own = MetaData()
"""The tables that only a server has."""

steps = Table(
    "schema_steps",
    own,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", _TEXT, nullable=False),
    Column("version", _TEXT, nullable=False),
    Column("at", BigInteger, nullable=False),
    comment="The schema's history.",
)

spaces = Table(
    "spaces",
    own,
    Column("space", _TEXT, primary_key=True),
    Column("token", _TEXT, nullable=False, comment="Another one each time a space of this name is begun."),
    Column("number", BigInteger, Identity(), nullable=False, comment="Its place among all, for the vectors' shards."),
    Column("made_at", BigInteger, nullable=False),
    Column("work_at", BigInteger, comment="When its background work is due, NULL if not before something is written."),
    Column("leased_by", _TEXT, comment="Who is at that work."),
    Column("work_came", Boolean, nullable=False, server_default=false(), comment="Since they began."),
    # Few are due at any time.
    Index("spaces_due", "work_at", postgresql_where=text("work_at IS NOT NULL")),
    comment="The spaces there are; whoever writes to one holds the lock of its row.",
)

part = Table(
    "part",
    own,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("of", Integer, nullable=False),
    comment="Which of the databases of a memory this is, and how many there are, since its first space: one row.",
)

noted = Table(
    "noted",
    own,
    Column("number", BigInteger, Identity(), primary_key=True),
    Column("space", _TEXT, nullable=False),
    Column("table_name", _TEXT, nullable=False),
    Column("event", _TEXT, nullable=False),
    Column("row", postgresql.JSONB, nullable=False, comment="As it was, or as it became if there was none."),
    comment="Rows that a dream changes, during its transaction.",
)


shown = Table(
    "shown",
    own,
    Column("space", _TEXT, nullable=False),
    Column("other", _TEXT, nullable=False, comment="Empty if any space may be meant."),
    PrimaryKeyConstraint("space", "other"),
    Index("shown_by_other", "other"),
    comment="Spaces whose receipts show something of another one: whoever deletes it there looks at them.",
)


def _words(name: str) -> Table:
    return Table(
        name,
        own,
        Column("space", _TEXT, ForeignKey(spaces.c.space), nullable=False),
        Column("number", Integer, nullable=False),
        Column("content", _TEXT, nullable=False),
        Column("tags", _TEXT, nullable=False),
        Column("category", _TEXT, nullable=False),
        PrimaryKeyConstraint("space", "number"),
        comment="Words to search by.",
    )


def _postings(name: str) -> Table:
    return Table(
        f"{name}_postings",
        own,
        Column("space", _TEXT, ForeignKey(spaces.c.space), nullable=False),
        Column("stem", _TEXT, nullable=False),
        Column("block", Integer, nullable=False),
        Column("said", LargeBinary, nullable=False, comment="Which rows of the block have it in text or tags."),
        Column("place", LargeBinary, nullable=False, comment="Which have it in the names of wing and closet."),
        # A GIN index would be smaller. With row-level security it is never used: its operators may tell of the rows
        # that a rule hides (they are not LEAKPROOF), so every row of the space would be compared.
        PrimaryKeyConstraint("space", "stem", "block"),
        comment="The rows that have a stem, two bytes each in blocks of 1,024 numbers.",
    )


words = {name: _words(name) for name in ("keyword", "note_words")}
postings = {name: _postings(name) for name in words}
keyword_tables = {table.name: table for table in (*words.values(), *postings.values())}
"""All tables of the keyword indexes, by name."""


def tables() -> dict[str, Table]:
    """The tables of records, as this engine keeps them."""
    there = MetaData()
    made: dict[str, Table] = {}
    for table in schema.metadata.sorted_tables:
        copied = table.to_metadata(there)
        for column in copied.columns:
            if isinstance(column.type, PackedText):
                column.type = LargeBinary()
            elif isinstance(column.type, Text):
                column.type = _TEXT
        made[table.name] = copied
    return made


def everything() -> Iterator[str]:
    """What creates everything in an empty schema, but for the posting lists."""
    for table in (*own.sorted_tables, *tables().values()):
        if table not in postings.values():
            yield from _made(table)
    yield _STEMS
    yield from _noting()
    for name in (*tables(), *words, noted.name):
        yield from _rules(name)


def _made(table: Table) -> Iterator[str]:
    """A table with its partitions and indexes."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    by_space = table.name in _LARGE
    made = str(CreateTable(table).compile(dialect=dialect))
    yield f"{made.rstrip()} PARTITION BY HASH (space)" if by_space else made
    for part in range(PARTITIONS if by_space else 0):
        where = f"WITH (MODULUS {PARTITIONS}, REMAINDER {part})"
        yield f"CREATE TABLE {table.name}_{part} PARTITION OF {table.name} FOR VALUES {where}"
    for index in sorted(table.indexes, key=lambda each: str(each.name)):
        yield str(CreateIndex(index).compile(dialect=dialect))


def _rules(name: str) -> Iterator[str]:
    """What keeps a transaction from seeing rows of another space than its own, the owner of the table too."""
    own_rows = f"space = current_setting('{SPACE_SETTING}', true)"
    yield f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY"
    yield f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY"
    yield f"CREATE POLICY own_space ON {name} USING ({own_rows}) WITH CHECK ({own_rows})"
    # Nothing is seen of a partition by its own name.
    for part in range(PARTITIONS if name in _LARGE else 0):
        yield f"ALTER TABLE {name}_{part} ENABLE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {name}_{part} FORCE ROW LEVEL SECURITY"


def onlookers() -> Iterator[str]:
    """What says which spaces show others; of those before it, nobody knows."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    yield str(CreateTable(shown, if_not_exists=True).compile(dialect=dialect))
    yield "CREATE INDEX IF NOT EXISTS shown_by_other ON shown (other)"
    yield "INSERT INTO shown (space, other) SELECT space, '' FROM spaces"
    yield "ALTER TABLE shown ENABLE ROW LEVEL SECURITY"
    yield "ALTER TABLE shown FORCE ROW LEVEL SECURITY"
    named = f"current_setting('{SPACE_SETTING}', true)"
    seen = f"{named} IN (space, other) OR other = ''"
    yield f"CREATE POLICY own_space ON shown USING ({seen}) WITH CHECK (space = {named})"


def queue() -> Iterator[str]:
    """What tells workers in a schema from before them: everything that is there is looked at once."""
    yield "ALTER TABLE spaces ADD COLUMN IF NOT EXISTS work_at bigint DEFAULT 0"
    yield "ALTER TABLE spaces ALTER COLUMN work_at DROP DEFAULT"
    yield 'ALTER TABLE spaces ADD COLUMN IF NOT EXISTS leased_by text COLLATE "C"'
    yield "ALTER TABLE spaces ADD COLUMN IF NOT EXISTS work_came boolean NOT NULL DEFAULT false"
    yield "CREATE INDEX IF NOT EXISTS spaces_due ON spaces (work_at) WHERE work_at IS NOT NULL"


def parts() -> Iterator[str]:
    """What a schema from before there could be several knows of that: with spaces in it, it is the only one."""
    yield "CREATE TABLE IF NOT EXISTS part (id integer PRIMARY KEY, number integer NOT NULL, of integer NOT NULL)"
    yield "INSERT INTO part SELECT 1, 1, 1 WHERE EXISTS (SELECT 1 FROM spaces)"


def posting_lists() -> Iterator[str]:
    """The posting lists, of what is there too; processes of before them neither search nor file by words any more."""
    yield "SET LOCAL statement_timeout = 0"  # as long as it takes for all that is there
    for name, table in postings.items():
        yield from _made(table)
        yield from _rules(table.name)
        # What was in their place; a new schema never had it.
        yield f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS terms text[]"
        yield f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {table.name} NO FORCE ROW LEVEL SECURITY"
        listed = "coalesce(string_agg(int2send(row::int2), '' ORDER BY row) FILTER (WHERE kind = '{}'), '')"
        yield f"""
        INSERT INTO {table.name} (space, stem, block, said, place)
        SELECT space, stem, block, {listed.format("s")}, {listed.format("p")}
        FROM (SELECT space, number >> 10 AS block, number & 1023 AS row,
                     substr(term, 13, 1) AS kind, substr(term, 15) AS stem
              FROM {name}, unnest(terms) AS term) AS held
        GROUP BY space, stem, block
        """
        yield f"ALTER TABLE {table.name} FORCE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {name} DROP COLUMN terms"
    yield "DROP FUNCTION IF EXISTS terms_of(text, text[])"


# Without a list of words that are left out. It is Porter's second stemmer, where SQLite has his first: they group one
# word in fifty differently, such as cry and cries, which only this one takes for the same.
_STEMS = "CREATE TEXT SEARCH DICTIONARY stems (TEMPLATE = pg_catalog.snowball, LANGUAGE = english)"


def _noting() -> Iterator[str]:
    """Triggers that note the rows that change, in transactions that ask for it."""
    yield """
    CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO noted (space, table_name, event, row) VALUES (NEW.space, TG_ARGV[0], TG_OP, to_jsonb(NEW));
        ELSE
            INSERT INTO noted (space, table_name, event, row) VALUES (OLD.space, TG_ARGV[0], TG_OP, to_jsonb(OLD));
        END IF;
        RETURN NULL;
    END $$
    """
    for name in TABLES:
        yield (
            f"CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON {name} FOR EACH ROW "
            f"WHEN (current_setting('{RECORDING}', true) = 'on') EXECUTE FUNCTION note_change('{name}')"
        )
