"""Fallback spaces: what every search reads beside the own space, how it is told apart, and what is never written."""

import asyncio
import json
import shutil

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from typer.testing import CliRunner

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.app import app
from langmem_tiers.errors import InvalidInput, InvalidPointer, UnknownSpace
from langmem_tiers.graphs import recall_node
from langmem_tiers.integrations import TieredRetriever, TieredStore, memory_tools, recall_runnable, space_tools
from langmem_tiers.naming import folder_name
from langmem_tiers.pointers import Pointer, find_pointers, parse_pointer
from langmem_tiers.settings import RecallSettings, Settings

SAID = "The zeppelin hangar is locked by Marta every evening."
KNOWN = "The zeppelin is repainted every March."
ASK = "When is the zeppelin hangar locked?"


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path, embedder=None, background=False) as opened:
        yield opened


@pytest.fixture
def team(memory):
    space = memory.space("teams/R & D")
    space.track([Turn(role="user", content=SAID, message_id="1")], session="monday")
    space.knowledge.save(KNOWN, category="zeppelin")
    space.archive.write("monday", summary="The zeppelin was moored at the northern mast.")
    space.documents.write("MEMORY.md", "The zeppelin hangar has two doors.")
    return space


@pytest.fixture
def alice(memory, team):
    space = memory.user("alice", fallbacks=[team.name])
    space.track([Turn(role="user", content="My canoe is red and lies in Porto.", message_id="1")], session="monday")
    return space


def call(space, name, **given):
    [tool] = space_tools(space, only=[name])
    return tool.invoke({"type": "tool_call", "id": "1", "name": name, "args": given})


# Unknown spaces


@pytest.mark.parametrize(
    "read",
    [
        lambda space: space.recall("Where is the zeppelin hangar?"),
        lambda space: space.search("zeppelin"),
        lambda space: space.knowledge.search("zeppelin"),
        lambda space: space.knowledge.search(),
        lambda space: space.archive.search("zeppelin"),
        lambda space: space.documents.search("zeppelin"),
        lambda space: space.documents.read("MEMORY.md"),
        lambda space: space.drawer("§W-001/R-01/D-001@teams/typo"),
    ],
)
def test_an_unknown_fallback_is_an_error_that_names_it_and_makes_nothing(memory, read):
    with pytest.raises(UnknownSpace, match="teams/typo") as raised:
        read(memory.user("alice", fallbacks=["teams/typo"]))
    assert raised.value.space == "teams/typo"
    assert "store something in it first" in str(raised.value)
    assert "teams/typo" not in memory.spaces()


def test_a_shared_space_is_made_by_what_is_first_stored_in_it(memory):
    alice = memory.user("alice", fallbacks=["global"])
    memory.space("global").knowledge.save(KNOWN)
    assert [each.entry.content for each in alice.knowledge.search("zeppelin")] == [KNOWN]


def test_what_does_not_read_does_not_need_the_fallback(memory):
    memory.user("alice", fallbacks=["teams/typo"]).track([Turn(role="user", content="Hello there, memory.")])


def test_the_tools_tell_the_model_that_a_fallback_is_unknown(memory):
    answer = call(memory.user("alice", fallbacks=["teams/typo"]), "search_memory", query="zeppelin")
    assert answer.status == "error"
    assert "teams/typo" in answer.content


# Declaring


def test_the_settings_name_fallbacks_for_calls_that_name_none(tmp_path):
    settings = Settings(recall=RecallSettings(fallbacks=("global",)))
    with Memory.open(tmp_path, embedder=None, background=False, settings=settings) as memory:
        memory.space("global").knowledge.save(KNOWN)
        assert memory.space("global").fallbacks == ()
        assert memory.user("alice").fallbacks == ("global",)
        assert memory.user("alice").knowledge.search("zeppelin")[0].space == "global"
        assert not memory.user("alice", fallbacks=()).knowledge.search("zeppelin")
        assert not TieredStore(memory).search(("tiers", "alice"), query="zeppelin")


def test_the_fallbacks_of_a_handle_follow_the_settings_of_the_agent_that_uses_it(tmp_path):
    agents = {"patrol": Settings(recall=RecallSettings(fallbacks=())), "scout": {"recall": {"fallbacks": ("global",)}}}
    settings = Settings(recall=RecallSettings(fallbacks=("teams/secret",)), agents=agents)
    with Memory.open(tmp_path, embedder=None, background=False, settings=settings) as memory:
        memory.space("teams/secret").knowledge.save(KNOWN)
        memory.space("global").knowledge.save("The zeppelin is grey.")
        alice, run = memory.user("alice"), {"configurable": {"user_id": "alice", "agent_id": "patrol"}}
        assert [each.space for each in alice.of_agent("scout").knowledge.search("zeppelin")] == ["global"]
        assert memory.user("alice", fallbacks=["global"]).of_agent("patrol").fallbacks == ("global",)
        for tools in (space_tools(alice, only=["search_memory"]), memory_tools(memory, only=["search_memory"])):
            assert KNOWN not in tools[0].invoke({"query": "zeppelin"}, run)
        assert KNOWN in space_tools(alice, only=["search_memory"])[0].invoke({"query": "zeppelin"})


def test_settings_with_an_impossible_name_are_refused():
    with pytest.raises(ValueError, match=r"'\.\./up' cannot name a space"):
        RecallSettings(fallbacks=("../up",))


def test_fallbacks_in_a_circle_are_each_read_once_and_not_followed(tmp_path):
    settings = Settings(recall=RecallSettings(fallbacks=("a", "b", "c")))
    with Memory.open(tmp_path, embedder=None, background=False, settings=settings) as memory:
        for name in ("a", "b", "c"):
            memory.space(name).knowledge.save(f"The zeppelin of {name} is blue.")
        found = memory.space("a").knowledge.search("zeppelin")
        assert sorted(each.space for each in found) == ["a", "b", "c"]
        only = memory.space("a", fallbacks=["a", "b", "b"])
        assert sorted(each.space for each in only.knowledge.search("zeppelin")) == ["a", "b"]


# Searches


def test_every_search_reads_the_fallback_and_says_where_it_found_something(alice, team):
    [entry] = alice.knowledge.search("zeppelin")
    [episode] = alice.archive.search("zeppelin mast")
    [piece] = alice.documents.search("zeppelin doors")
    assert {entry.space, episode.space, piece.space} == {team.name}
    assert {each.space for each in alice.search("zeppelin")} == {team.name}
    assert alice.documents.read("MEMORY.md").space == team.name
    assert [each.space for each in alice.recall(ASK).items] == [team.name]


def test_without_a_query_the_newest_of_all_spaces_come_first(memory, alice, team):
    memory.user("alice").knowledge.save("The canoe is red.")
    assert [each.space for each in alice.knowledge.search()] == ["users/alice", team.name]
    assert [each.space for each in alice.archive.search("")] == [team.name]


def test_own_results_count_more(memory, team):
    bob = memory.user("bob", fallbacks=[team.name])
    own = bob.knowledge.save("The zeppelin is polished every April.").entry
    found = bob.knowledge.search("zeppelin")
    assert found[0].entry.id == own.id
    alone = team.knowledge.search("zeppelin")[0]
    assert found[1].score == pytest.approx(alone.score / 1.2, abs=1e-3)


def test_the_own_copy_wins_over_a_duplicate(memory, team):
    bob = memory.user("bob", fallbacks=[team.name])
    own = bob.knowledge.save("the zeppelin is repainted every march").entry
    assert [(each.entry.id, each.space) for each in bob.knowledge.search("zeppelin")] == [(own.id, "users/bob")]


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("The zeppelin team codes in C#.", "The zeppelin team codes in C++."),
        ("The zeppelin hall is kept at 5 degrees.", "The zeppelin hall is kept at -5 degrees."),
        ("Marta on the zeppelin: :-)", "Marta on the zeppelin: :-("),
    ],
)
def test_what_differs_in_a_sign_only_is_no_duplicate(memory, own, other):
    team, bob = memory.space("teams/a"), memory.user("bob", fallbacks=["teams/a"])
    team.knowledge.save(other)
    bob.knowledge.save(own)
    assert {each.entry.content for each in bob.knowledge.search("zeppelin")} == {own, other}


def test_summaries_of_topics_only_are_no_duplicates(memory):
    team, bob = memory.space("teams/a"), memory.user("bob", fallbacks=["teams/a"])
    for space, asked in ((team, "How does a zeppelin engine work?"), (bob, "What is a good recipe for dal?")):
        space.track([Turn(role="user", content=asked)], session="s")
        assert space.archive.write("s").summary == ""
    found = bob.archive.search("")
    assert {each.space: bool(each.episode.topics) for each in found} == {"users/bob": True, "teams/a": True}


def test_the_own_copy_wins_in_recall_where_the_other_has_a_higher_rank(memory):
    team, bob = memory.space("teams/a"), memory.user("bob", fallbacks=["teams/a"])
    wrong = team.knowledge.save("The zeppelin is green.").entry
    team.knowledge.save(KNOWN, origin="user", corrects=wrong.id)
    bob.knowledge.save(KNOWN)
    recalled = bob.recall("When is the zeppelin repainted?")
    assert {each.space: each.verdict for each in recalled.receipt.known} == {
        "users/bob": "shown",
        "teams/a": "duplicate",
    }


def test_a_fallback_is_never_written_by_reading_it(memory, alice, team):
    def state():
        entry = team.knowledge.search("zeppelin")[0].entry
        [episode] = team.archive.recent()
        return entry.recall_count, episode.recall_count, [each.recall_count for each in team.drawers()], team.receipts()

    before = state()
    alice.recall(ASK, session="s", message_id="m")
    call(alice, "search_history", query="zeppelin mast")
    call(alice, "search_memory", query="zeppelin")
    TieredRetriever(memory=memory, space="users/alice", fallbacks=(team.name,), keep_receipt=True).invoke("zeppelin")
    memory.flush()
    assert state() == before
    assert team.usage() == ()


def test_what_is_saved_or_deleted_is_the_own(alice, team):
    foreign = alice.knowledge.search("zeppelin")[0].entry
    assert not alice.knowledge.delete(foreign.id).existed
    for name in ("update_memory", "delete_memory"):
        more = {"content": "The zeppelin is sold."} if name == "update_memory" else {}
        answer = call(alice, name, id=f"{foreign.id}@teams/R%20%26%20D", **more)
        assert answer.status == "error"
        assert "only read" in answer.content
    assert team.knowledge.get(foreign.id) == foreign


# Pointers


SPACES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12).filter(
    lambda name: "\\" not in name and name.strip("./") and "//" not in f"/{name}/"
)


@example("~")
@example("a-")
@example("a/~b_")
@given(SPACES)
def test_a_pointer_with_any_name_survives_being_written_and_read(name):
    pointer = Pointer(1, 2, 3, name)
    assert parse_pointer(str(pointer)) == pointer
    assert find_pointers(f"As it was said ({pointer}); see {pointer}.") == (pointer,)


@pytest.mark.parametrize("text", ["§W-001/R-01/D-001@", "§W-001/R-01/D-001@@a", "§W-001/R-01/D-001@a@b", "§W-1/R-1@ a"])
def test_a_broken_name_is_no_pointer_and_not_the_own_one(text):
    with pytest.raises(InvalidPointer):
        parse_pointer(text)


def test_the_own_pointers_stay_and_those_of_a_fallback_carry_its_name(memory, alice, team):
    recalled = alice.recall(f"{ASK} And where does my red canoe lie?")
    assert sorted(each.drawer.pointer for each in recalled.items) == [
        "§W-001/R-01/D-001",
        "§W-001/R-01/D-001@teams/R%20%26%20D",
    ]
    assert "[§W-001/R-01/D-001@teams/R%20%26%20D]" in recalled.block
    assert {each.pointer for each in recalled.receipt.candidates if each.space == team.name} == {
        "§W-001/R-01/D-001@teams/R%20%26%20D"
    }


def test_what_is_known_carries_the_name_of_its_space_too(alice, team):
    block = alice.recall("When is the zeppelin repainted, and how many doors has its hangar?").block
    for kind in ("entry", "document"):
        assert any(f"[{kind} " in line and "@teams/R%20%26%20D]" in line for line in block.splitlines()), kind


def test_a_pointer_leads_into_the_space_that_it_names(alice, team):
    assert alice.drawer("§W-001/R-01/D-001").content.startswith("My canoe")
    for written in ("§W-001/R-01/D-001@teams/R%20%26%20D", "w‑1/r‑1/d‑1@teams/r%20%26%20d"):
        found = alice.drawer(written)
        assert (found.content, found.pointer) == (SAID, "§W-001/R-01/D-001@teams/R%20%26%20D")
    assert SAID in call(alice, "get_memory", id_or_pointer="[§W-001/R-01/D-001@teams/R%20%26%20D].").content
    assert "canoe" in call(alice, "get_memory", id_or_pointer="§W-001/R-01/D-001").content


def test_a_name_that_differs_by_case_alone_is_not_mixed_up(memory):
    for name in ("users/Ben", "users/ben"):
        memory.space(name).track([Turn(role="user", content=f"This is said by {name} alone.")])
    carla = memory.user("carla", fallbacks=["users/ben", "users/Ben"])
    answer = call(carla, "get_memory", id_or_pointer="§W-001/R-01/D-001@users/Ben")
    assert "said by users/Ben alone" in answer.content
    with pytest.raises(InvalidPointer):
        carla.drawer("§W-001/R-01/D-001@users/BEN")


@pytest.mark.parametrize("space", ["users/bob", "users/nobody"])
def test_no_guessed_pointer_or_id_reads_a_space_that_is_no_fallback(memory, alice, space):
    bob = memory.user("bob")
    bob.track([Turn(role="user", content="My secret garden is in Faro.")])
    entry = bob.knowledge.save("The secret garden is walled.").entry
    told = set()
    for reference in (f"§W-001/R-01/D-001@{space}", f"{entry.id}@{space}"):
        answer = call(alice, "get_memory", id_or_pointer=reference)
        assert answer.status == "error"
        assert "garden" not in answer.content
        told.add(answer.content.replace(space, "…"))
    assert len(told) == 1
    with pytest.raises(InvalidPointer, match="fallbacks"):
        alice.drawer(f"§W-001/R-01/D-001@{space}")
    assert "users/nobody" not in memory.spaces()


def test_ids_of_a_fallback_resolve_with_and_without_its_name(alice, team):
    entry, [episode] = alice.knowledge.search("zeppelin")[0].entry, team.archive.recent()
    for name in (entry.id, f"{entry.id}@teams/R%20%26%20D"):
        assert alice.knowledge.get(name) == entry
        assert KNOWN in call(alice, "get_memory", id_or_pointer=name).content
    for name in (episode.id, f"{episode.id}@teams/R%20%26%20D"):
        assert alice.archive.get(name) == episode
        assert "northern mast" in call(alice, "get_memory", id_or_pointer=name).content


def test_a_message_of_another_space_is_no_evidence_here(alice):
    with pytest.raises(InvalidPointer, match="another space"):
        alice.knowledge.save("The hangar is locked.", evidence=["§W-001/R-01/D-001@teams/R%20%26%20D"])
    with pytest.raises(InvalidInput, match="another space"):
        alice.ended([alice.drawer("§W-001/R-01/D-001@teams/R%20%26%20D")])


# Doors


def test_tools_name_the_space_of_what_they_found(alice):
    assert "@teams/R%20%26%20D] (zeppelin)" in call(alice, "search_memory", query="zeppelin").content
    history = call(alice, "search_history", query="zeppelin hangar locked mast")
    assert history.artifact["pointers"] == ["§W-001/R-01/D-001@teams/R%20%26%20D"]
    assert all(each.endswith("@teams/R%20%26%20D") for each in history.artifact["episodes"])
    alice.recall(ASK, session="s", message_id="m")
    assert "§W-001/R-01/D-001@teams/R%20%26%20D" in call(alice, "explain_recall").content


def test_a_note_of_a_fallback_is_read_and_an_own_one_of_its_name_goes_before(alice, team):
    ref, before = "MEMORY.md@teams/R%20%26%20D", team.documents.read("MEMORY.md")
    assert call(alice, "search_notes", query="zeppelin doors").artifact["paths"] == [ref]
    assert call(alice, "read_note", path="MEMORY.md").artifact == {"path": ref, "notes": {}}
    assert call(alice, "write_note", path="MEMORY.md", text="The canoe has one seat.").status == "success"
    assert "canoe" in call(alice, "read_note", path="MEMORY.md").content
    assert "two doors" in call(alice, "read_note", path=ref).content
    assert team.documents.read("MEMORY.md") == before


def test_the_run_of_a_graph_reads_the_fallbacks_of_its_nodes_and_tools(memory, alice, team):
    run = {"configurable": {"user_id": "alice", "thread_id": "t"}}
    message = HumanMessage(ASK, id="1")
    update = recall_node(memory, fallbacks=[team.name]).invoke({"messages": [message]}, run)
    assert "@teams/R%20%26%20D]" in update["memory_blocks"]["1"]
    assert SAID in recall_runnable(memory, fallbacks=[team.name]).invoke(ASK, run)
    [tool] = memory_tools(memory, fallbacks=[team.name], only=["search_memory"])
    assert KNOWN in tool.invoke({"query": "zeppelin"}, run)


def test_the_retriever_reads_its_fallbacks(memory, alice, team):
    found = TieredRetriever(memory=memory, user_id="alice", fallbacks=(team.name,), tier="all", k=9).invoke("zeppelin")
    assert {each.metadata["space"] for each in found} == {team.name}
    assert all(each.id.endswith("@teams/R%20%26%20D") for each in found)


def test_the_mcp_server_reads_the_fallbacks_of_its_space(alice):
    from mcp import Client

    from langmem_tiers.integrations.mcp import mcp_server

    async def ask():
        async with Client(mcp_server(alice)) as client:
            answer = await client.call_tool("search_memory", {"query": "zeppelin"})
            return answer.content[0].text

    assert KNOWN in asyncio.run(ask())


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("gone", [pytest.param("deleted", marks=pytest.mark.folder), "off"])
def test_a_recall_of_a_fallback_that_is_gone_is_explained_and_makes_no_space(
    tmp_path, memory, alice, team, named, gone
):
    alice.recall(ASK, session="s", message_id="m")
    memory.close()
    if gone == "deleted":
        shutil.rmtree(tmp_path / "spaces" / folder_name(team.name))
    else:
        (tmp_path / "langmem-tiers.toml").write_text(f'[spaces."{team.name}"]\nenabled = false\n')
    start = ["--path", str(tmp_path), "--embedder", "none", "--user", "alice"]
    fallback = ["--fallback", team.name] if named else []
    shown = CliRunner().invoke(app, [*start, *fallback, "receipts", "show", "1"])
    assert (shown.exit_code, "(no longer read from here)" in shown.output, SAID in shown.output) == (0, True, False)
    with Memory.open(tmp_path, embedder=None, background=False) as again:
        told = call(again.user("alice", fallbacks=[team.name] if named else ()), "explain_recall")
        assert "(no longer read from here)" in told.content
        assert (team.name in again.spaces()) == (gone == "off")


def test_the_command_line_takes_fallbacks(tmp_path, memory, alice, team):
    entry = alice.knowledge.search("zeppelin")[0].entry
    memory.close()

    def run(*words):
        start = ["--path", str(tmp_path), "--embedder", "none", "--user", "alice", "--fallback", team.name]
        return CliRunner().invoke(app, [*start, *words])

    assert f"{entry.id}@teams/R%20%26%20D" in run("knowledge", "search", "zeppelin").output
    assert KNOWN in run("knowledge", "show", entry.id).output
    assert run("knowledge", "delete", entry.id, "--yes").exit_code == 1
    assert SAID in run("show", "§W-001/R-01/D-001@teams/R%20%26%20D").output
    assert json.loads(run("recall", ASK, "--json").output)["items"][0]["space"] == team.name
