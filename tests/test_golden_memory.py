"""What the memory makes of an invented history, through the Python API, compared with golden files."""

import hashlib
import json
import re

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.knowledge_graph.pictures import draw
from langmem_tiers.testing import FrozenClock, HashEmbedder, ScriptedChatModel
from tests.golden_story import NOW, QUESTIONS, copied, turns
from tests.goldens import check, error, steady_ids
from tests.tasking import archived
from tests.tidying import by_hand, fill

pytestmark = pytest.mark.xdist_group("golden")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the memory to which all was told."""
    steady_ids(monkeypatch, 0x100000)
    return copied(tmp_path / "memory")


@pytest.fixture
def told(folder):
    """The opened copy."""
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=FrozenClock(NOW)) as opened:
        yield opened


@pytest.fixture
def ottilie(told):
    """The space of who told it."""
    return told.user("ottilie")


def _tried(call):
    """What a call gives, or its error."""
    try:
        return call()
    except Exception as raised:  # noqa: BLE001  # whatever it raises is what is looked at
        return error(raised)


def _entity(entity):
    return {"name": entity.name, "type": entity.type, "aliases": entity.aliases, "id": entity.id}


def _relation(relation):
    period = relation.period
    times = [None if each is None else each.isoformat() for each in (period.start, period.end)]
    line = f"{relation}  [{times[0]} {period.start_unit} .. {times[1]} {period.end_unit}]"
    about = [relation.said, relation.path, relation.origin, f"authority {int(relation.authority)}", relation.reason]
    flags = ["withdrawn"] * relation.withdrawn + ["start unstated"] * (not period.start_stated)
    evidence = [f"{each.pointer} {each.quote!r}" for each in relation.evidence]
    return " | ".join([line, *map(str, about), f"confidence {relation.confidence:g}", *flags, *evidence, relation.id])


def _entry(entry):
    about = [entry.category, *entry.tags, entry.status, f"authority {int(entry.authority)}", entry.path, entry.origin]
    about += [f"{entry.reason} -> {entry.successor}"] if not entry.active else []
    about += [f"flags {', '.join(entry.flags)}"] if entry.flags else []
    about += [f"expires {entry.expires_at.isoformat()}"] if entry.expires_at else []
    evidence = [f"{each.pointer} {each.quote!r}" + f" via {each.via}" * bool(each.via) for each in entry.evidence]
    dates = f"{entry.created_at:%Y-%m-%d} {entry.updated_at:%Y-%m-%d} v{entry.version}"
    return " | ".join([entry.content, dates, *about, *evidence, entry.id])


def _entries(space):
    return [_entry(each.entry) for each in space.knowledge.search(status="all", limit=1000)]


def _graph(space):
    entities = space.graph.entities(limit=1000)
    lines = (_relation(each) for entity in entities for each in space.graph.timeline(entity.id).relations)
    return {"entities": [_entity(each) for each in entities], "relations": list(dict.fromkeys(lines))}


def _everything(space):
    return {
        "entries": _entries(space),
        "graph": _graph(space),
        "documents": [space.documents.read(each.path).content for each in space.documents.list()],
        "identity": space.identity.read().text,
    }


@pytest.mark.folder  # what the doctor says of files
def test_what_is_kept_of_the_history(told, ottilie):
    check("memory_entries.json", {"entries": _entries(ottilie), "categories": ottilie.knowledge.categories()})
    check("memory_graph.json", {**_graph(ottilie), "stats": ottilie.graph.stats()})
    check("memory_activity.json", ottilie.knowledge.activity(limit=200), told.path)
    found = {
        "sessions": ottilie.sessions(),
        "episodes": ottilie.archive.recent(limit=50),
        "identity": ottilie.identity.read(),
        "profile": ottilie.prompt_block(),
        "documents": ottilie.documents.list(),
        "stats": ottilie.stats(),
        "doctor": ottilie.doctor(),
        "usage": ottilie.usage(),
        "spaces": told.spaces(),
    }
    check("memory_state.json", found, told.path)


def test_the_palace(told, ottilie):
    lines = []
    for wing in ottilie.palace():
        lines.append(f"{wing.name} | {wing.slug} | {wing.kind} | {', '.join(wing.aliases)}")
        for room in wing.rooms:
            lines.append(f"  {room.pointer} {room.session} {room.opened_at:%Y-%m-%d %H:%M} {room.last_at:%H:%M}")
            for closet in room.closets:
                lines.append(f"    {closet.name}")
                lines += [
                    f"      {each.pointer} {each.role} {each.said_at:%H:%M} {each.status} {' '.join(each.tags)}"
                    f" | {each.content}"
                    for each in closet.drawers
                ]
    check("memory_palace.txt", "\n".join(lines))


def test_recalled_blocks_and_their_receipts(told, ottilie):
    blocks, receipts = [], []
    for query, options in QUESTIONS:
        recalled = ottilie.recall(query, **options)
        blocks.append(f"### {query} {options or ''}\n{recalled.block}\n")
        receipt = recalled.receipt
        receipts.append(
            {
                "query": query,
                "verdict": receipt.verdict,
                "tokens": receipt.tokens,
                "timings": sorted(receipt.timings),
                "notes": receipt.notes,
                "items": [f"{each.drawer.pointer} {each.score:.4f} {each.tokens}" for each in recalled.items],
                "candidates": [
                    f"{each.pointer} {each.session} {each.verdict} {each.score:.4f} "
                    + json.dumps({name: round(value, 4) for name, value in {**each.scores, **each.signals}.items()})
                    + json.dumps({name: round(value, 4) for name, value in each.factors.items()})
                    for each in receipt.candidates[:6]
                ],
                "known": [f"{each.kind} {each.ref} {each.verdict} {each.score:.4f}" for each in receipt.known],
            }
        )
    check("recall_blocks.txt", "\n".join(blocks), told.path)
    check("recall_receipts.json", receipts, told.path)
    check("recall_receipt_whole.json", {"latest": ottilie.receipts(limit=3)}, told.path)


def test_searches_of_every_layer(ottilie):
    known, archive, graph = ottilie.knowledge, ottilie.archive, ottilie.graph
    asked = {
        "space": [
            [(each.layer, round(each.score, 4), str(getattr(each, "text", ""))) for each in ottilie.search(query)]
            for query in ("Where does Yara live?", "kiln", None)
        ],
        "space by layer": [ottilie.search("Bergen", layer=layer, limit=2) for layer in ("L0", "L1", "L2")],
        "knowledge": {
            query: [f"{each.score:.4f} {each.entry.content}" for each in known.search(query)]
            for query in ("Where does Yara live?", "tea", "work", "who is married", "unheard of")
        },
        "knowledge by filter": {
            "substring": [each.entry.content for each in known.search(substring="bergen", status="all")],
            "category": [each.entry.content for each in known.search(category="preferences")],
            "inactive": [each.entry.content for each in known.search(status="inactive", limit=50)],
            "until": [each.entry.content for each in known.search(until=turns("s03-market")[0].said_at, status="all")],
        },
        "archive": [(each.episode.session, round(each.score, 4)) for each in archive.search("exhibition")],
        "archive by time": [each.session for each in archive.recent(limit=3)],
        "documents": ottilie.documents.search("tea"),
        "entities": [_entity(each) for each in graph.entities(text="a", limit=5)],
        "resolved": [graph.resolve(each) for each in ("my brother", "Yara", "Torbjørn", "Yarra Castelan", "nobody")],
        "drawer": [ottilie.drawer(3), ottilie.drawer("§W-001/R-01/D-001"), ottilie.drawer(4711)],
    }
    check("searches.json", asked)


def test_questions_to_the_graph(ottilie):
    graph = ottilie.graph

    def around(entity, **asked):
        part = graph.neighbours(entity, **asked)
        names = {each.id: each.name for each in part.entities}
        return {
            "relations": [str(each) for each in part.relations],
            "distance": {names.get(each, each): steps for each, steps in part.distance.items()},
            "cut": part.cut,
        }

    asked = {
        "user now": around("user"),
        "user in July 2025": around("user", as_of="2025-07"),
        "user ever": around("user", ended=True),
        "user two steps": around("user", depth=2, limit=12),
        "user, known in July": around("user", known_at="2025-07-20", ended=True),
        "where": around("user", predicates=["lives_in", "works_at"], ended=True),
        "Yara, mentioned": around("Yara Castellan", mentioned=True),
        "of two": [str(each) for each in graph.subgraph(["Torbjorn", "Yara Castellan"]).relations],
        "paths": [
            [str(each) for each in path] for path in graph.paths("Torbjorn", "Yara Castellan", mentioned=True).paths
        ],
        "timeline": [_relation(each) for each in graph.timeline("user").relations],
        "timeline as known": [_relation(each) for each in graph.timeline("user", known_at="2025-09-01").relations],
        "changes": [f"{each.at.isoformat()} {each.what} {each.relation}" for each in graph.changes("2025-07", "2026")],
        "changes of one": [f"{each.what} {each.relation}" for each in graph.changes("2025", entity="Yara Castellan")],
        "pairs": graph.likely_pairs(),
        "networkx": [graph.networkx().number_of_nodes(), graph.networkx(as_of="2025-07").number_of_edges()],
        "errors": [
            _tried(lambda: graph.neighbours("Nobody Inparticular")),
            _tried(lambda: graph.neighbours("user", as_of="someday")),
            _tried(lambda: graph.paths("user", "Torbjorn", depth=9)),
        ],
    }
    check("graph_questions.json", asked)


def test_exports_and_pictures_of_the_graph(told, ottilie, tmp_path):
    graph = ottilie.graph
    check("graph_export.json", graph.export(tmp_path / "g.json").read_text())
    check("graph_export.graphml", graph.export(tmp_path / "g.graphml").read_text()[:6000])
    pictures = {}
    for name in ("graph.svg", "graph.html"):
        draw(graph.neighbours("user", depth=2, ended=True), tmp_path / name)
        text = (tmp_path / name).read_text()
        texts = re.findall(r"<text[^>]*>([^<]*)<|<title>([^<]*)<", text)
        pictures[name] = {
            "labels": sorted({first or second for first, second in texts}),
            "tags": {tag: text.count(f"<{tag}") for tag in ("circle", "line", "path", "rect", "text", "tr", "script")},
        }
    check("graph_pictures.json", pictures)
    bob = told.user("bob")
    check("graph_imported.json", {"report": bob.graph.import_(tmp_path / "g.json"), "same": _same(ottilie, bob)})


def _same(one, other):
    """Whether the users of two spaces have the same around them."""
    parts = (space.graph.neighbours("user", depth=2, ended=True) for space in (one, other))
    first, second = ({str(each) for each in part.relations} for part in parts)
    return first == second


@pytest.mark.folder  # what the doctor says of files
def test_what_is_changed_by_hand(told, ottilie):
    known, graph, clock = ottilie.knowledge, ottilie.graph, told.clock
    log = []

    def note(what, value):
        clock.tick(60)
        log.append({what: value})

    tea = known.save("Ottilie drinks jasmine tea.", category="preferences/drinks", tags=["tea"], origin="user")
    note("saved", tea)
    note("known", known.save("Ottilie drinks jasmine tea.").outcome)
    note(
        "another wording",
        known.save("Ottilie likes to drink jasmine tea.", category="preferences/drinks", origin="user"),
    )
    right = known.save(
        "Ottilie drinks sencha tea.", category="preferences/drinks", corrects=tea.entry.id, origin="user"
    )
    note("corrected", right)
    note("history", [_entry(each) for each in known.history(right.entry.id)])
    note("updated", _entry(known.update(right.entry.id, content="Ottilie drinks sencha.", version=1, origin="user")))
    note("changed since", _tried(lambda: known.update(right.entry.id, tags=["x"], version=1, origin="user")))
    note("deactivated", _entry(known.deactivate(right.entry.id, "boredom", origin="user")))
    note("reactivated", _entry(known.reactivate(right.entry.id, origin="user")))
    note("deleted", known.delete(right.entry.id))
    note("unknown", known.delete("nothing"))
    note("evidence", [each.pointer for each in known.evidence(known.search("allergic")[0].entry.id)])
    ottilie.identity.write("## About\n- Name: Ottilie\n- Ceramicist")
    note("identity", ottilie.identity.add("Short answers.", section="Style"))
    note("identity, undone", ottilie.identity.undo())
    note("identity, history", ottilie.identity.history())
    note("identity block", ottilie.identity.prompt_block())
    note("document", ottilie.documents.write("MEMORY.md", "# Notes\nThe tile wall is due in April."))
    note("appended", ottilie.documents.append("memory/2026-03-02.md", "The glaze test failed."))
    note("documents", ottilie.documents.list())
    note("document found", ottilie.documents.search("glaze"))
    note("document block", ottilie.documents.prompt_block())
    note("document deleted", ottilie.documents.delete("memory/2026-03-02.md"))
    lives = graph.add_relation("Ingunn", "lives in", "Molde", valid_from="2010", object_type="place")
    moved = graph.add_relation("Ingunn", "lives in", "Kristiansund", valid_from="2024-05", object_type="place")
    note("related", [_relation(lives.relation), lives.outcome, _relation(moved.relation), moved.outcome])
    note("displaced", [_relation(each) for each in moved.changed])
    note("value", _relation(graph.add_relation("Rohde TE 75", "has capacity", value=75, unit="l").relation))
    note("ended", _relation(graph.end_relation(moved.relation.id, "2026-01")))
    note("believed", [_relation(each) for each in graph.history(moved.relation.id)])
    note("withdrawn", _relation(graph.withdraw_relation(moved.relation.id)))
    note("holds again", [_relation(each) for each in graph.timeline("Ingunn").relations])
    note("relation deleted", graph.delete_relation(moved.relation.id))
    graph.add_entity("Yara C.", type="person", aliases=["Yari"])
    graph.add_relation("Yara C.", "likes", "cobalt")
    merge = graph.merge("Yara C.", "Yara Castellan")
    note("merged", merge)
    note("under both names", [_relation(each) for each in graph.timeline("Yari").relations])
    note("unmerged", graph.unmerge(merge.id))
    note("kept apart", graph.kept_apart())
    note("merge refused", _tried(lambda: graph.merge("Yara C.", "Yara Castellan")))
    note("allowed", graph.allow_merge("Yara C.", "Yara Castellan"))
    note("merges", graph.merges(undone=True))
    note("entity deleted", graph.delete_entity("Yara C."))
    note("episode task", archived(ottilie, "t1", "Tested three glazes. The second one cracked."))
    note("episode kept", ottilie.archive.keep(ottilie.archive.recent()[0].id))
    note("episode deleted", ottilie.archive.delete(ottilie.archive.recent()[0].id))
    revised = [Turn(role="user", content="Hi! My name is Ottilie Brandvold.", message_id="s01-hello-0")]
    note("revised", ottilie.track(revised, session="s01-hello"))
    note("rejected", ottilie.track([Turn(role="user", content="", message_id="e")], session="s09"))
    note("resent", ottilie.track(turns("s02-kiln"), session="s02-kiln", history=True))
    ottilie.mine()
    ottilie.flush()
    note("rebuilt", [re.sub(r"\d+(\.\d+)? s\b", "… s", line) for line in ottilie.rebuild()])
    note("doctor", ottilie.doctor())
    check("changes_by_hand.json", log, told.path)
    check("changes_by_hand_after.json", {"entries": _entries(ottilie), "graph": _graph(ottilie)}, told.path)


def _double(space):
    """Something for a dream to do."""
    fill(space)
    for text in ("The user likes sencha tea.", "The user enjoys sencha tea.", "The user goes to the sauna."):
        space.knowledge.save(text, category="habits", origin="system")
        space.memory.clock.tick(86_400)
    signals = ["I told you not to use emojis.", "Again emojis? Stop using emojis!", "I said no emojis."]
    for place, text in enumerate(signals):
        said = [
            Turn(role="assistant", content="Sure! \U0001f600", message_id=f"a{place}"),
            Turn(role="user", content=text, message_id=f"u{place}"),
        ]
        space.track(said, session=f"annoyed-{place}")
        space.end_session(f"annoyed-{place}")
        space.memory.clock.tick(4000)
    space.mine()
    space.flush()


def test_a_dream_by_rules_and_its_undoing(folder):
    options = {"embedder": HashEmbedder(), "background": False, "clock": FrozenClock(NOW)}
    with Memory.open(folder, settings=by_hand(), **options) as memory:
        ottilie = memory.user("ottilie")
        _double(ottilie)
        _check_a_dream(memory, ottilie)


def _check_a_dream(told, ottilie):
    before = _everything(ottilie)
    previewed = ottilie.dream(dry_run=True)
    assert _everything(ottilie) == before
    applied = ottilie.dream()
    after = _entries(ottilie)
    undone = ottilie.undo_dream(applied.id)
    assert _everything(ottilie) == before
    redone = ottilie.redo_dream(applied.id)
    assert _entries(ottilie) == after
    again = _tried(lambda: ottilie.redo_dream(applied.id))
    unknown = _tried(lambda: ottilie.undo_dream("nothing"))
    reports = {"previewed": previewed, "applied": applied, "undone": undone, "redone": redone.status}
    reports |= {"latest": [each.status for each in ottilie.dreams()], "errors": [again, unknown], "entries": after}
    check("dream_by_rules.json", reports, told.path)
    check("dream_by_rules_diff.txt", "\n".join(str(each) for each in (previewed.diff, applied.diff)), told.path)


def test_a_model_in_the_background(folder, tmp_path):
    fact = {"content": "The user fires stoneware in a Rohde kiln.", "category": "work", "sources": [2], "turns": [2]}
    replies = {
        "facts": [fact],
        "topics": ["kiln"],
        "subject": "Ottilie",
        "entities": [],
        "relations": [],
        "summary": "The user bought a Rohde kiln for the market.",
        "abstract": "A new kiln.",
        "toDelete": [],
        "merges": [{"sources": [1, 2], "content": "The user likes sencha tea."}],
        "refine": [{"entry": 3, "category": "habits", "tags": ["sauna"]}],
        "antiPatterns": [],
        "preferences": [],
    }
    model = ScriptedChatModel(responses=[json.dumps(replies)])
    clock = FrozenClock(NOW)
    options = {"embedder": HashEmbedder(), "background": False, "clock": clock, "model": model}
    with Memory.open(tmp_path / "m", settings=Settings(dream=by_hand().dream), **options) as memory:
        space = memory.user("ottilie")
        space.track(turns("s02-kiln"), session="s02-kiln")
        space.end_session("s02-kiln")
        mined = space.mine()
        space.flush()
        _double(space)
        report = space.dream()
        found = {"mined": mined, "dream": report, **_everything(space), "usage": space.usage()}
        found |= {"episodes": space.archive.recent(), "activity": space.knowledge.activity(limit=30)}
        check("model_results.json", found, memory.path)
        asked = [
            f"### request {place}\n" + "\n".join(f"[{each.type}]\n{each.text}" for each in request)
            for place, request in enumerate(model.requests)
        ]
        check("model_requests.txt", "\n\n".join(_shortened(asked)), memory.path)


def _shortened(asked):
    """Each request, but its first message only where it is new."""
    seen = set()
    for text in asked:
        digest = hashlib.sha256(text[:1500].encode()).hexdigest()
        yield text if digest not in seen else text[:80] + " … " + text[-700:]
        seen.add(digest)


def test_errors_of_wrong_calls(told, ottilie, tmp_path):
    from datetime import datetime

    naive, space = datetime(2026, 1, 1), ottilie
    known, graph, identity, notes = space.knowledge, space.graph, space.identity, space.documents
    entry = known.search("allergic")[0].entry.id
    lives = next(each for each in graph.neighbours("user").relations if each.predicate == "lives_in").id
    (tmp_path / "file").write_text("no memory")
    (tmp_path / "bad.json").write_text("{}")
    calls = [
        lambda: told.user(""),
        lambda: told.user(None),
        lambda: told.user(1.5),
        lambda: told.space("../up"),
        lambda: told.space("users/alice", fallbacks=5),
        lambda: Memory.open(tmp_path / "file"),
        lambda: Memory.open(tmp_path / "x", settings={}),
        lambda: Memory.open(tmp_path / "x", embedder=5),
        lambda: Memory.open(tmp_path / "x", embedder="no-such-provider:model"),
        lambda: Memory.open(tmp_path / "x", model="gpt"),
        lambda: space.track("text"),
        lambda: space.track([Turn(role="user", content="x")], session=5),
        lambda: space.track([Turn(role="robot", content="x")], session="s").raise_rejected(),
        lambda: space.track([Turn(role="user", content="x" * 1_000_001)], session="s").raise_rejected(),
        lambda: space.track([Turn(role="user", content="x", said_at=naive)], session="s").raise_rejected(),
        lambda: space.recall(5),
        lambda: space.recall("Where is it?", limit=0),
        lambda: space.recall("Where is it?", threshold=2),
        lambda: space.recall("Where is it?", now=naive),
        lambda: space.recall("Where is it?", token_budget="many"),
        lambda: space.search("x", layer="L9"),
        lambda: space.drawer("D-1"),
        lambda: space.drawer("§W-001/R-01"),
        lambda: space.receipts(limit=0),
        lambda: space.usage(by="year"),
        lambda: space.undo_dream("nothing"),
        lambda: known.save(""),
        lambda: known.save("x" * 5000),
        lambda: known.save("The key is sk-proj-Zx81kQpL0vTtY7wWmN3bR5cD9eF2gH4j."),
        lambda: known.save("A fact.", category="a//b"),
        lambda: known.save("A fact.", tags="tea"),
        lambda: known.save("A fact.", corrects="nothing"),
        lambda: known.save("A fact.", evidence=[4711]),
        lambda: known.save("A fact.", metadata={"a": object()}),
        lambda: known.update("nothing", content="x y z"),
        lambda: known.update(entry, content="The user is allergic to nothing.", origin="dream"),
        lambda: known.unmerge(entry),
        lambda: known.search("x", status="gone"),
        lambda: graph.add_entity(""),
        lambda: graph.add_entity("Rolf", type="persons"),
        lambda: graph.add_relation("Rolf", "knows", "Rolf"),
        lambda: graph.add_relation("Rolf", "no longer lives in", "Molde"),
        lambda: graph.add_relation("Rolf", "lives in", "Molde", valid_from="2024", valid_to="2020"),
        lambda: graph.add_relation("Rolf", "lives in", "Molde", valid_from="soon"),
        lambda: graph.add_relation("Rolf", "lives in"),
        lambda: graph.end_relation("nothing"),
        lambda: graph.end_relation(lives, "1990"),
        lambda: graph.merge("user", "Nobody Atall"),
        lambda: graph.unmerge(99),
        lambda: graph.import_(tmp_path / "bad.json"),
        lambda: graph.export(tmp_path / "g.xyz"),
        lambda: identity.write("x" * 1001),
        lambda: identity.write("ok", version=7),
        lambda: identity.remove("Nothing"),
        lambda: notes.write("../up.md", "x"),
        lambda: notes.write("a.md", "x", version=3),
        lambda: notes.import_folder(tmp_path / "missing"),
        lambda: told.import_file(tmp_path / "missing.json"),
        lambda: told.import_file(tmp_path / "bad.json", user="x"),
        lambda: told.import_file(tmp_path / "bad.json", format="word"),
        lambda: space.archive.search("x", limit=0),
    ]
    lines = [given if isinstance(given := _tried(call), str) else "no error" for call in calls]
    check("errors.txt", "\n".join(f"{place + 1:02d} {line}" for place, line in enumerate(lines)), tmp_path)
