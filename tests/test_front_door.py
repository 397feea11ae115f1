"""What whoever is new here tries first: a wrong value is told by the argument's name, and leaves nothing behind."""

import asyncio
import inspect
from dataclasses import replace
from typing import get_args

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langmem_tiers import Memory, Space, Turn
from langmem_tiers.cli.knowledge import StatusChoice
from langmem_tiers.cli.main import main
from langmem_tiers.dream.golden import Golden
from langmem_tiers.errors import InvalidInput, MissingUser, NaiveDatetime
from langmem_tiers.graphs import MemoryState, flush_node, recall_node, track_node
from langmem_tiers.integrations import memory_tools, space_tools
from langmem_tiers.knowledge.documents import Documents
from langmem_tiers.knowledge.episodes import Episodes
from langmem_tiers.knowledge.identity import Identity
from langmem_tiers.knowledge.knowledge import Knowledge, Status
from langmem_tiers.settings import Settings
from langmem_tiers.testing import HashEmbedder
from tests.graphing import ask, chat_graph, remember
from tests.graphing import run as run_of
from tests.tasking import archived

SAID = "My sister Anna lives in Lisbon."
WRONG = (None, 5, b"x", ["s"], object())
# What a space and the nodes need of their memory; nobody else calls these.
INNER = {"context", "finish", "jobs", "keep_closed", "use", "wake"}
OWNERS = {
    Memory: lambda memory: memory,
    Space: lambda memory: memory.user("alice"),
    Knowledge: lambda memory: memory.user("alice").knowledge,
    Identity: lambda memory: memory.user("alice").identity,
    Documents: lambda memory: memory.user("alice").documents,
    Episodes: lambda memory: memory.user("alice").archive,
    Golden: lambda memory: memory.user("alice").golden,
}
# What is given for the arguments that have to be given, while another one is wrong.
RIGHT = {
    "agent": "scout",
    "backup": "copy.tar.gz",
    "content": "The user prefers coffee.",
    "data": b"The launch is on Friday.",
    "dream_id": "x",
    "episode_id": "x",
    "expects": "Lisbon",
    "folder": "notes",
    "ids": ["x"],
    "known": [],
    "line": "Speaks Portuguese.",
    "listener": print,
    "name": "users/alice",
    "number": 1,
    "path": "MEMORY.md",
    "query": "Where does Anna live?",
    "question": "Where does my sister live?",
    "reference": "3f2a9c01d4e5",
    "section": "Notes",
    "session": "monday",
    "target": "copy.tar.gz",
    "task": "login",
    "text": "Cookies are cleared.",
    "turns": [Turn(role="user", content="My bicycle is green.")],
    "user_id": "alice",
    "what": "Notes",
    "which": "1",
}


def _fill(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.track([Turn(role="user", content=SAID)], session="monday")
    alice.knowledge.save("The user prefers tea.")
    alice.identity.add("Speaks German.", section="Languages")
    alice.documents.write("MEMORY.md", "The launch is on Friday.")
    alice.documents.write("anna.md", "Anna, the sister, lives in Lisbon.")
    archived(alice, "login", "The login failed on old cookies.")
    alice.golden.add("Where does Anna live?", expects="Lisbon")
    memory.flush()


@pytest.fixture
def stored(memory) -> Memory:
    """A memory with something of every kind in it."""
    _fill(memory)
    return memory


def _takes(annotation: str, value: object) -> bool:
    """Whether a value is of the type that an argument is declared to have."""
    kinds = {kind.strip() for kind in annotation.split("|")}
    if value is None:
        return "None" in kinds
    if isinstance(value, bytes):
        return "bytes" in kinds
    if isinstance(value, list):
        return any(kind.endswith(("[str]", "[str", "[Cited]")) for kind in kinds)
    # A single drawer may be cited without its list.
    return value == 5 and bool(kinds & {"int", "float", "Iterable[Cited]"})


def _wrong_calls(kind: type, entry_id: str):
    """Every public method, with one argument at a time of each wrong type."""
    for name, method in inspect.getmembers(kind, inspect.isroutine):
        if name.startswith("_") or name in INNER:
            continue
        parameters = [each for each in inspect.signature(method).parameters.values() if each.name != "self"]
        right = {**RIGHT, "entry_id": entry_id}
        needed = {each.name: right[each.name] for each in parameters if each.default is each.empty}
        for each in parameters:
            for value in WRONG:
                if not _takes(each.annotation, value):
                    yield name, each.name, {**needed, each.name: value}


def _call(owner: object, method: str, given: dict) -> object:
    result = getattr(owner, method)(**given)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def _fault(owner: object, method: str, argument: str, given: dict) -> str | None:
    """What is wrong with how a call is refused; errors of other kinds pass through."""
    try:
        _call(owner, method, given)
    except (InvalidInput, MissingUser) as error:
        told = str(error).lower()
        return None if argument in told or argument.replace("_", " ") in told else f"does not name it: {told}"
    return "takes it"


def _everything(memory: Memory) -> tuple:
    alice = memory.user("alice")
    stats = replace(alice.stats(), database_bytes=0, chroma_bytes=0, index_bytes=0)
    known = alice.knowledge.search(status="all"), alice.identity.read(), alice.documents.list(), alice.golden.list()
    return memory.spaces(), stats, *known


@pytest.mark.parametrize("kind", OWNERS, ids=lambda kind: kind.__name__)
def test_every_argument_of_a_wrong_type_is_refused_by_its_name_and_nothing_is_stored(stored, kind, tmp_path):
    owner, before = OWNERS[kind](stored), _everything(stored)
    entry = stored.user("alice").knowledge.search()[0].entry
    calls = list(_wrong_calls(kind, entry.id))
    faults = [
        f"{method}({argument}={given[argument]!r}) {fault}"
        for method, argument, given in calls
        if (fault := _fault(owner, method, argument, {**given, **_there(method, given, argument, tmp_path)}))
    ]
    assert faults == []
    assert len(calls) >= 20
    assert _everything(stored) == before


def _there(method: str, given: dict, argument: str, folder) -> dict:
    """Files and folders that are there, where another argument is the wrong one."""
    if method.endswith("import_file") and argument != "path":
        said = folder / "said.jsonl"
        said.write_text('{"session": "s", "role": "user", "content": "I moved to Porto."}\n')
        return {"path": said}
    return {"folder": folder} if "folder" in given and argument != "folder" else {}


OUT_OF_RANGE = {
    "recall limit": lambda space: space.recall(SAID, limit=0),
    "recall threshold": lambda space: space.recall(SAID, threshold=5),
    "recall threshold below": lambda space: space.recall(SAID, threshold=-0.1),
    "recall threshold nan": lambda space: space.recall(SAID, threshold=float("nan")),
    "recall token_budget": lambda space: space.recall(SAID, token_budget=-1),
    "recall window": lambda space: space.recall(SAID, window="abc"),
    "recall window[1]": lambda space: space.recall(SAID, window=["abc", 5]),
    "usage days": lambda space: space.usage(days=0),
    "usage days below": lambda space: space.usage(days=-1),
    "usage days beyond": lambda space: space.usage(days=10**10),
    "usage days text": lambda space: space.usage(days="x"),
    "usage by": lambda space: space.usage(by="week"),
    "receipts limit": lambda space: space.receipts(limit=-1),
    "receipt number": lambda space: space.receipt(10**30),
    "flush timeout": lambda space: space.flush(float("nan")),
    "search limit": lambda space: space.knowledge.search(limit=True),
    "search limit beyond": lambda space: space.knowledge.search(limit=10**30),
    "search limit without end": lambda space: space.knowledge.search(limit=10**5000),
    "search status": lambda space: space.knowledge.search(status="any"),
    "activity limit": lambda space: space.knowledge.activity(limit=0),
    "save tags": lambda space: space.knowledge.save("The user swims.", tags="sport"),
    "save metadata": lambda space: space.knowledge.save("The user swims.", metadata=["ab"]),
    "history limit": lambda space: space.identity.history(limit=0),
    "write version": lambda space: space.documents.write("a.md", "text", version=-1),
    "memory_md tokens": lambda space: space.documents.memory_md(-1),
    "import_folder folder": lambda space: space.documents.import_folder(""),
    "export_folder folder": lambda space: space.documents.export_folder("a\0b"),
    "import_folder folder of nobody": lambda space: space.documents.import_folder("~nobody-of-this-name/notes"),
    "search limit of documents": lambda space: space.documents.search("launch", limit=0),
    "recent limit": lambda space: space.archive.recent(0),
    "write compaction": lambda space: space.archive.write("monday", summary="Talk.", compaction=-1),
    "end_session session": lambda space: space.end_session("\ud800"),
}


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_a_value_out_of_range_is_refused_by_the_arguments_name(stored, case):
    before = _everything(stored)
    with pytest.raises(InvalidInput) as caught:
        OUT_OF_RANGE[case](stored.user("alice"))
    assert f"`{case.split()[1]}`" in str(caught.value)
    assert _everything(stored) == before


def test_a_refusal_says_what_came_and_what_is_expected(alice):
    with pytest.raises(InvalidInput) as caught:
        alice.recall("Anna", limit="3")
    assert str(caught.value) == "The argument `limit` cannot be '3' (str). Give a whole number of 1 or more."


def test_what_came_is_shown_in_short(alice):
    for given in ("x" * 10_000, "\x1b[2J", 10**5000, {"secret": "value"}):
        with pytest.raises(InvalidInput) as caught:
            alice.receipts(limit=given)
        assert len(str(caught.value)) < 150
        assert str(caught.value).isprintable()
        assert "secret" not in str(caught.value)


def test_whole_numbers_of_other_libraries_and_long_waits_are_fine(alice):
    numpy = pytest.importorskip("numpy")
    alice.track([Turn(role="user", content=SAID)], session="monday")
    assert alice.recall("Where does Anna live?", limit=numpy.int64(1), threshold=numpy.float32(0)).items
    assert alice.drawer(numpy.int64(1)).content == SAID
    assert alice.flush(float("inf"))
    assert alice.flush(-1)


@pytest.mark.parametrize(
    "fields",
    [{"role": 5}, {"content": 5}, {"message_id": 5}, {"speaker": ["s"]}, {"said_at": "today"}, {"origin": "nobody"}],
    ids=lambda fields: next(iter(fields)),
)
def test_a_turn_with_a_wrong_field_is_refused_as_a_value_and_the_others_are_stored(alice, fields):
    wrong = Turn(**{"role": "user", "content": "My bicycle is green.", **fields})
    report = alice.track([wrong, Turn(role="user", content=SAID)], session="monday")
    assert [type(each.error).__mro__.count(InvalidInput) for each in report.rejected] == [1]
    assert [drawer.content for drawer in alice.drawers()] == [SAID]


@pytest.mark.parametrize("path", ["", "a\0b", "~nobody-of-this-name/memory"])
def test_a_path_that_can_be_none_makes_no_folder(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="`path`"):
        Memory.open(path)
    assert list(tmp_path.iterdir()) == []


DOORS = {
    "import": lambda memory, path: memory.import_file(path),
    "sync": lambda memory, path: memory.user("alice").sync(path, init=True),
    "import notes": lambda memory, path: memory.user("alice").documents.import_folder(path),
    "export notes": lambda memory, path: memory.user("alice").documents.export_folder(path),
    "import graph": lambda memory, path: memory.user("alice").graph.import_(path),
    "export graph": lambda memory, path: memory.user("alice").graph.export(path),
}


@pytest.mark.folder
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_every_door_says_of_a_path_that_it_is_too_long_or_begins_nowhere(door, memory, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InvalidInput, match="the current directory was deleted"):
        door(memory, "notes.json")
    with pytest.raises(InvalidInput, match="short enough"):
        door(memory, f"{tmp_path}/{'n' * 300}.json")


def test_what_a_memory_is_opened_with_is_looked_at_before_a_folder_is_made(tmp_path):
    for wrong in ({"settings": {}}, {"background": "no"}, {"clock": 5}, {"embedder": object()}):
        with pytest.raises(InvalidInput):
            Memory.open(tmp_path / "m", **{"embedder": None, **wrong})
    assert not (tmp_path / "m").exists()
    with Memory.open(tmp_path / "m", embedder=None, settings=Settings()) as memory:
        assert memory.spaces() == ()


def test_a_time_without_a_zone_names_its_argument(alice, clock):
    naive = clock().replace(tzinfo=None)
    with pytest.raises(NaiveDatetime, match="`as_of`"):
        alice.recall("Anna", as_of=naive)
    with pytest.raises(NaiveDatetime, match="`since`"):
        alice.knowledge.search(since=naive)


def test_the_name_of_one_tool_is_no_list_of_letters(memory, alice):
    for make in (lambda only: memory_tools(memory, only=only), lambda only: space_tools(alice, only=only)):
        with pytest.raises(InvalidInput, match="also for a single one"):
            make("save_memory")
        with pytest.raises(InvalidInput, match=r"`only\[0\]`"):
            make([5])
        assert [tool.name for tool in make(["save_memory"])] == ["save_memory"]


# The command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same on disk, for commands that change nothing."""
    path = tmp_path_factory.mktemp("looked-at") / "memory"
    with Memory.open(path, embedder=HashEmbedder(), background=False) as memory:
        _fill(memory)
    return path


@pytest.fixture
def run(folder, capsys):
    """Run a command line about `folder`: exit code, standard output, standard error."""

    def call(*arguments, user="alice"):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(folder), "--user", user, *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


def test_stats_count_everything_that_is_kept(memory, stored):
    alice = memory.user("alice")
    tea = alice.knowledge.search()[0].entry
    alice.knowledge.save("The user prefers coffee.", corrects=tea.id)
    stats = alice.stats()
    assert (stats.entries, stats.inactive_entries, stats.episodes, stats.documents) == (1, 1, 1, 2)
    assert stats.notes >= 3
    assert memory.user("nobody").stats().notes == 0


def test_stats_and_palace_show_what_is_known_beside_the_messages(run):
    shown = " ".join(run("stats")[1].replace("│", " ").split())
    for part in ("entries 1", "inactive entries 0", "episodes 1", "documents 2"):
        assert part in shown
    assert "Besides: 1 entry, 1 episode, 2 notes\n" in run("palace")[1]


def test_what_is_known_is_explained_without_an_empty_table_of_messages(run):
    code, out, _ = run("recall", "When is the launch on Friday?", "--explain")
    assert code == 0
    assert "document MEMORY.md: " in out
    assert "candidates, best first" not in out


def test_what_is_known_is_explained_before_the_messages(run):
    _, out, _ = run("recall", "Where does my sister Anna live?", "--explain")
    assert 0 < out.index("document anna.md: ") < out.index(", best first", out.index("document anna.md: "))


def test_nothing_found_is_explained_in_one_line(run):
    out = run("recall", "quantum chromodynamics lattice", "--explain")[1]
    assert "No candidates: " in out
    assert "best first" not in out


def test_the_same_words_say_which_entries_are_meant_everywhere(run):
    words = set(get_args(Status))
    assert words == {choice.value for choice in StatusChoice}
    assert all(run("knowledge", "list", "--status", word)[0] == 0 for word in words)


WRONG_USAGE = [
    "recall",
    "recall q --limit -1",
    "recall q --limit x",
    f"recall q --limit {10**30}",
    "palace --depth 9",
    "show",
    "knowledge list --limit 0",
    f"knowledge search q --limit {10**30}",
    "knowledge list --status any",
    "knowledge edit x --version 0",
    "knowledge edit x",
    "activity --limit -1",
    "golden add q",
    "golden remove 0",
    "identity undo --to -1",
    f"identity undo --to {10**30}",
    "identity add",
    "notes write x",
    "usage --days 0",
    "usage --days 99999999",
    "stats extra",
    "doctor extra",
    "rebuild extra",
    "import x --format nothing",
    "import",
    "bench nothing",
    "nothing",
]


@pytest.mark.parametrize("command", WRONG_USAGE)
def test_wrong_usage_is_told_without_a_traceback(run, command):
    code, out, err = run(*command.split())
    assert (code, out) == (2, "")
    assert "Error" in err
    assert "Traceback" not in err


REFUSED = [
    "recall q --rerank nothing",
    "show x",
    "show 99",
    "show 99999999999999999999999",
    "knowledge list --since x",
    "knowledge list --category ../x",
    "knowledge search q --until 9999-99-99",
    "knowledge show nothing",
    "knowledge unmerge nothing",
    "knowledge edit nothing --pin",
    "knowledge delete nothing --yes",
    "knowledge add x --corrects nothing",
    "knowledge add x --category ../y",
    "activity --session nothing",
    "golden add ok --expects x",
    "golden remove 9",
    "identity undo --to 5",
    "identity remove nothing",
    "identity edit --file /nothing/there",
    "notes show nothing",
    "notes show ../x",
    "notes delete nothing",
    "notes import /nothing/there",
    "notes write /x y",
    "import /nothing/there",
    "chat --model nothing",
    "bench mine --space nothing",
]


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_refused_is_told_in_one_line(run, command, monkeypatch):
    # With another embedder than the folder's, the background may also say so before the command ends.
    monkeypatch.setenv("LANGMEM_TIERS_EMBEDDER", "none")
    code, out, err = run(*command.split())
    assert (code, out) == (1, "")
    assert err.startswith("langmem-tiers: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    ["recall q", "palace", "show 1", "stats", "knowledge list", "activity", "usage", "identity show", "notes list"],
)
def test_a_user_that_is_not_there_is_one_line(run, command):
    code, out, err = run(*command.split(), user="nobody")
    assert (code, out) == (1, "")
    assert err.startswith("langmem-tiers: There is no user 'nobody' in the memory in ")
    assert err.count("\n") == 1


def test_a_session_without_activity_is_not_an_unknown_one(run):
    code, _, err = run("activity", "--session", "tuesday")
    assert (code, err.partition(" in ")[0]) == (1, "langmem-tiers: There is no session tuesday")
    assert run("activity", "--session", "monday")[0] == 0


# Nodes


def test_a_missing_user_is_said_once_for_each_message(memory, caplog):
    graph = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
    for _ in range(2):
        graph.invoke(ask(), run_of(user=None))
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(" reason=")[0] for line in said] == ["memory_node_failed node=recall error=MissingUser"] * 2
    assert "user_id" in said[0]


def test_what_was_recalled_for_one_user_is_gone_where_the_next_can_not_be_named(memory, alice):
    remember(alice, SAID)
    alice.identity.add("Speaks German.")
    graph = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
    first = graph.invoke(ask("Where does my sister Anna live?"), run_of("alice"))
    assert first["memory_blocks"] != {}
    assert "German" in first["memory_scope"]["profile"]
    then = graph.invoke(ask(), run_of("x" * 1000))
    assert then["memory_blocks"] == {}
    assert then["memory_scope"].get("profile") is None
    assert then["memory_scope"]["space"] == ""


def test_a_recall_that_fails_is_no_fault_of_the_hosts_state(memory, caplog):
    graph = chat_graph(memory)
    memory.close()
    graph.invoke(ask(), run_of())
    assert "MemoryClosed" in caplog.text
    assert "memory_blocks" not in caplog.text


def test_nodes_of_one_step_that_know_no_user_do_not_cost_the_reply(memory, caplog):
    builder = StateGraph(MemoryState)
    for node in (recall_node(memory), track_node(memory), flush_node(memory, context_window=1000)):
        builder.add_node(node)
        builder.add_edge(START, node.name)
    assert builder.compile().invoke(ask(SAID), run_of(user=None))["memory_blocks"] == {}
    assert caplog.text.count("error=MissingUser") == 1
