"""What the user said later is shown beside what it contradicts, whatever door is asked."""

import json

import pytest

from langmem_tiers import Turn
from langmem_tiers.cli.main import main
from langmem_tiers.integrations import GRAPH_TOOLS, MEMORY_TOOLS, TieredRetriever, TieredStore, space_tools

DAY = 86_400
OVER = 'but later, 2026-04-01: "I retired last summer."'


@pytest.fixture
def retired(alice, clock):
    """A space whose user was a teacher, and later retired, which no rule makes the end of a relation."""
    for text in ("I work as a teacher.", "I retired last summer."):
        alice.track([Turn(role="user", content=text, said_at=clock())], session=f"{clock():%Y-%m-%d}")
        alice.mine()
        assert alice.flush()
        clock.tick(30 * DAY)
    return alice


@pytest.fixture
def teacher(retired):
    """The entry that says so."""
    (found,) = [each.entry for each in retired.knowledge.search("") if "teacher" in each.entry.content]
    return found


@pytest.fixture
def run(retired, tmp_path, capsys):
    """Runs a command about the space, and gives what it prints, on one line."""

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(tmp_path / "memory"), "--user", "alice", *arguments])
        assert not left.value.code
        return " ".join(capsys.readouterr().out.split())

    return call


@pytest.fixture
def ask(retired):
    """Calls a tool, and gives what the model reads."""
    by_name = {each.name: each for each in space_tools(retired, only=[*MEMORY_TOOLS, *GRAPH_TOOLS])}
    return lambda name, **given: by_name[name].invoke(given)


def test_an_entry_that_is_listed_or_shown_is_marked(run, teacher):
    assert OVER in run("knowledge", "list")
    assert OVER in run("knowledge", "show", teacher.id)


def test_an_entry_as_json_has_the_later_words(run, teacher):
    listed = {each["id"]: each["ended"] for each in json.loads(run("knowledge", "list", "--json"))}
    assert listed[teacher.id] == [OVER]
    shown = json.loads(run("knowledge", "show", teacher.id, "--json"))["entry"]
    assert shown["ended"] == [OVER]


def test_an_entry_that_an_agent_reads_is_marked(ask, teacher):
    assert OVER in ask("get_memory", id_or_pointer=teacher.id)
    assert OVER in ask("get_memory", id_or_pointer=teacher.evidence[0].pointer)


def test_an_entry_of_a_store_or_a_retriever_has_the_later_words(retired, teacher):
    store = TieredStore(retired.memory)
    namespace = ("tiers", "alice", "knowledge")
    assert store.get(namespace, teacher.id).value["ended"] == [OVER]
    found = TieredRetriever(memory=retired.memory, user_id="alice", tier="entries").invoke("teacher")
    assert [each.metadata["ended"] for each in found if each.id == teacher.id] == [[OVER]]


def test_a_message_that_an_agent_or_a_retriever_finds_is_marked(retired, ask):
    first, later = retired.drawers()
    assert retired.ended([first, later]) == {first.number: (OVER,), later.number: ()}
    assert f"user ({OVER}): I work as a teacher." in ask("get_memory", id_or_pointer=first.pointer)
    assert f"user ({OVER}): I work as a teacher." in ask("search_history", query="teacher")
    found = TieredRetriever(memory=retired.memory, user_id="alice").invoke("teacher")
    assert {each.id: each.metadata["ended"] for each in found}[first.pointer] == [OVER]


@pytest.mark.parametrize("tier", ["drawers", "episodes"])
def test_a_message_or_a_summary_of_a_store_has_the_later_words(retired, tier):
    store = TieredStore(retired.memory)
    namespace = ("tiers", "alice", tier)
    for query in ("teacher", None):
        found = [each for each in store.search(namespace, query=query) if "teacher" in each.value["text"]]
        assert [each.value["ended"] for each in found] == [[OVER]]
        assert store.get(namespace, found[0].key).value == found[0].value


def test_a_relation_that_an_agent_looks_up_is_marked(ask):
    assert OVER in ask("knowledge_graph_search", entity="user", query="Where do I work?")
    assert OVER in ask("entity_timeline", entity="user")


@pytest.mark.parametrize("command", [("graph", "user"), ("graph",), ("timeline", "user")])
def test_a_relation_that_is_printed_is_marked(run, command):
    assert "but later, 2026-04-01" in run(*command)


def test_a_relation_has_the_later_words_at_each_query_as_of_when_they_were_said(retired):
    graph = retired.graph
    (now,) = graph.neighbours("user").relations
    assert now.said_later == (OVER,)
    assert graph.relation(now.id) == now
    assert graph.timeline("user").relations[0].said_later == (OVER,)
    assert graph.neighbours("user", as_of="2026-03").relations[0].said_later == ()
    assert graph.neighbours("user", known_at="2026-03").relations[0].said_later == ()


def test_a_relation_in_a_store_or_a_picture_is_marked(retired, run, tmp_path):
    found = TieredStore(retired.memory).search(("tiers", "alice", "relations"))
    assert any(OVER in each.value["text"] for each in found)
    for command in (("graph", "user"), ("timeline", "user")):
        run(*command, "--out", str(tmp_path / "picture.svg"))
        assert "I retired last summer." in (tmp_path / "picture.svg").read_text()


def test_a_summary_that_an_agent_finds_is_marked(retired, ask):
    assert OVER in ask("search_memory", query="teacher", layer="L2")
    assert OVER in ask("search_history", query="teacher")
    (first,) = [each for each in retired.archive.recent() if "teacher" in each.summary]
    assert OVER in ask("get_memory", id_or_pointer=first.id)


def test_a_summary_has_the_later_words_unless_it_came_after_them(retired):
    found = {each.episode.began_at.month: each.ended for each in retired.archive.search("")}
    assert found[3] == (OVER,)
    assert not any(found[month] for month in found if month != 3)


@pytest.mark.parametrize(
    "line",
    [
        "- User: I work as a teacher. (2026-03-02)",
        "- The user works as a teacher. (2026-02-01, 2026-03-02)",
        "- Anna: I work as a dentist. (2026-03-02)\n- User: I work as a teacher. (2026-03-02)",
    ],
)
def test_a_line_of_a_document_is_marked_by_what_was_said_after_its_day(retired, line):
    retired.documents.write("dreams/one.md", f"# What stays\n\n## Project facts\n\n{line}\n")
    (hit,) = retired.documents.search("teacher")
    assert hit.ended == (OVER,)
    found = TieredStore(retired.memory).search(("tiers", "alice", "documents"), query="teacher")
    assert [each.value["ended"] for each in found] == [[OVER]]


@pytest.mark.parametrize(
    "line",
    [
        "- User: I work as a teacher. (2026-04-02)",
        "- Anna: I work as a teacher. (2026-03-02)",
        "- User: I work as a teacher. (2026-99-99)",
        "I work as a teacher.",
    ],
)
def test_a_line_of_a_document_is_not_marked_by_what_was_said_before_it_or_of_another(retired, line):
    retired.documents.write("notes.md", line)
    (hit,) = retired.documents.search("teacher")
    assert hit.ended == ()


def test_a_document_written_before_the_later_words_is_marked_when_it_is_recalled(alice, clock):
    alice.documents.write("notes.md", "I work as a teacher, and the chalk is in the left cupboard.")
    clock.tick(30 * DAY)
    alice.track([Turn(role="user", content="I retired last summer.", said_at=clock())], session="tuesday")
    alice.mine()
    assert alice.flush()
    (line,) = [each for each in alice.recall("Where is the chalk?").block.splitlines() if "notes.md" in each]
    assert 'but later, 2026-04-01: "I retired last summer."' in line


def test_a_summary_of_a_model_or_a_host_is_marked_when_it_is_recalled(alice, clock):
    alice.track([Turn(role="user", content="I work as a teacher in Turin.", said_at=clock())], session="monday")
    alice.archive.write("monday", summary="The user works as a teacher in Turin.")
    clock.tick(30 * DAY)
    alice.track([Turn(role="user", content="I retired last summer.", said_at=clock())], session="tuesday")
    alice.mine()
    assert alice.flush()
    lines = alice.recall("What did we talk about in March?").block.splitlines()
    (summary,) = [each for each in lines if "session summary" in each]
    assert OVER in summary
