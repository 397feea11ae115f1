"""The MCP server, driven by the client of the package `mcp`: over pipes as a desktop client does, and over HTTP."""

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations import GRAPH_TOOLS, MEMORY_TOOLS, NOTE_TOOLS, WORKING_TOOLS, WRITING_GUIDANCE
from langmem_tiers.integrations.mcp import mcp_server, run_http

SCRIPT = str(Path(sys.executable).with_name("langmem-tiers"))
TOKEN = "a-token-for-the-tests"
SECONDS = 60


@pytest.fixture
def folder(tmp_path):
    """A memory with something to read in it."""
    path = tmp_path / "memory"
    with Memory.open(path, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="My sister Lena moved to Porto.")], session="monday")
        alice.identity.add("Speaks German.", section="Languages")
        alice.graph.add_relation("Ana/Lena", "lives in", "Porto", valid_from="2024-05", subject_type="person")
        memory.flush()
    return path


@pytest.fixture
def command(folder):
    """The command line that serves alice's memory."""
    return [SCRIPT, "--path", str(folder), "--user", "alice", "mcp"]


@pytest.fixture
def client(command, offline_environment, tmp_path):
    """Connects to a server over pipes; `mode` is the protocol's era, `options` are those of the command."""

    @asynccontextmanager
    async def connect(mode="auto", *options) -> AsyncIterator[Client]:
        started = StdioServerParameters(command=command[0], args=[*command[1:], *options], env=offline_environment)
        with (tmp_path / "errors.txt").open("w") as errors:
            async with Client(stdio_client(started, errlog=errors), mode=mode) as connected:
                yield connected

    return connect


@pytest.fixture
def connected(folder):
    """Connects to a server in this process, whose memory is open meanwhile."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Client]:
        with Memory.open(folder, embedder=None, background=False) as memory:
            async with Client(mcp_server(memory.user("alice"))) as client:
                yield client

    return connect


@pytest.fixture
def server(command, offline_environment):
    """Starts a server as a process, with pipes to it; none outlives its test."""
    with contextlib.ExitStack() as started:

        def start(*options, **environment) -> subprocess.Popen:
            process = subprocess.Popen(
                [*command, *options],
                env={**offline_environment, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            started.callback(_stop, process)
            return process

        yield start


def _stop(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()


@pytest.fixture
def address(server):
    """The address of a server over HTTP."""
    process = server("--http", "--port", "0", LANGMEM_TIERS_MCP_TOKEN=TOKEN)
    return _announced(process)


def _announced(process: subprocess.Popen) -> str:
    line = next(line for line in process.stderr if "http://" in line)
    return line.partition(" on ")[2].partition(". ")[0]


def _text(result) -> str:
    return result.content[0].text


async def test_a_client_finds_every_tool_with_a_description_and_the_schema_of_its_arguments(connected):
    async with connected() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tuple(tools) == (*MEMORY_TOOLS, *GRAPH_TOOLS)
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools.values())
    save = tools["save_memory"].input_schema
    assert (save["required"], sorted(save["properties"])) == (["content"], ["category", "content", "tags"])
    assert "runtime" not in str([tool.input_schema for tool in tools.values()])


async def test_tools_that_only_read_and_those_that_destroy_are_marked(alice):
    async with Client(mcp_server(alice)) as connected:
        marked = {tool.name: tool.annotations for tool in (await connected.list_tools()).tools}
    assert [name for name, hints in marked.items() if not hints.read_only_hint] == [
        "save_memory",
        "update_memory",
        "delete_memory",
        "memory_write",
        "add_relation",
        "end_relation",
    ]
    assert [name for name, hints in marked.items() if hints.destructive_hint] == [
        "update_memory",
        "delete_memory",
        "memory_write",
    ]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_a_client_saves_it_finds_and_deletes_and_the_folder_has_it(client, folder, mode):
    async with client(mode) as connected:
        saved = await connected.call_tool("save_memory", {"content": "The user prefers tea.", "tags": "tea, drinks"})
        found = await connected.call_tool("search_memory", {"query": "tea"})
        kept = await connected.call_tool("save_memory", {"content": "The user plays the cello in Braga."})
        id_ = _text(saved).partition("[")[2].partition("]")[0]
        deleted = await connected.call_tool("delete_memory", {"id": id_})
        gone = await connected.call_tool("search_memory", {"query": "tea"})
    assert [each.is_error for each in (saved, found, kept, deleted)] == [False] * 4
    assert "The user prefers tea." in _text(found)
    assert (_text(deleted), "prefers tea" in _text(gone)) == (f"Deleted [{id_}].", False)
    with Memory.open(folder, embedder=None, background=False) as memory:
        assert [each.entry.content for each in memory.user("alice").knowledge.search()] == [
            "The user plays the cello in Braga."
        ]


async def test_working_memory_notes_and_looking_back_are_served_where_they_are_named(client, folder):
    options = ("--tools", "working,notes, episodes", "--namespace", "patrol/heartbeat")
    async with client("auto", *options) as connected:
        assert [tool.name for tool in (await connected.list_tools()).tools] == [
            *WORKING_TOOLS,
            *NOTE_TOOLS,
            "search_history",
            "get_memory",
        ]
        kept = await connected.call_tool(
            "save_to_working_memory", {"key": "alerts", "data": "Disk full", "ttl_minutes": 30}
        )
        read = await connected.call_tool("get_from_working_memory", {"key": "alerts"})
        other = await connected.call_tool("save_to_working_memory", {"key": "session/monday/x", "data": "x"})
        noted = await connected.call_tool("write_note", {"path": "MEMORY.md", "text": "The user sails."})
        blind = await connected.call_tool("write_note", {"path": "MEMORY.md", "text": "x", "mode": "replace"})
        shown = _text(await connected.call_tool("read_note", {"path": "MEMORY.md"}))
        version = int(shown.partition("version ")[2].partition(",")[0])
        told = {"path": "MEMORY.md", "text": "The user rows.", "mode": "replace", "version": version}
        replaced = await connected.call_tool("write_note", told)
        history = await connected.call_tool("search_history", {})
    assert [each.is_error for each in (kept, read, noted, replaced, history)] == [False] * 5
    assert ("Disk full" in _text(read), "The user sails." in shown) == (True, True)
    assert [each.is_error for each in (other, blind)] == [True, True]
    with Memory.open(folder, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        assert [each.key for each in alice.working.list()] == ["patrol/heartbeat/alerts"]
        assert alice.documents.read("MEMORY.md").content == "The user rows."


async def test_clients_write_to_one_namespace_unless_told_otherwise(alice):
    async with Client(mcp_server(alice, only=WORKING_TOOLS)) as connected:
        await connected.call_tool("save_to_working_memory", {"key": "inbox", "data": "3 unread"})
    assert [each.key for each in alice.working.list()] == ["session/mcp/inbox"]


async def test_a_server_says_of_its_tools_what_they_are_for(alice):
    told = []
    for only in ((*MEMORY_TOOLS, *GRAPH_TOOLS), NOTE_TOOLS, WORKING_TOOLS):
        async with Client(mcp_server(alice, only=only)) as connected:
            told.append(connected.instructions)
    assert ["search_memory" in each for each in told] == [True, False, False]
    assert ["MEMORY.md" in each for each in told] == [False, True, False]
    assert ["working memory" in each for each in told] == [False, False, True]


REFUSED = [
    ("save_memory", {}, "content: Field required"),
    ("save_memory", {"content": ["a", {"b": 1}]}, "content"),
    ("search_memory", {"query": "tea", "layer": "L7"}, "layer"),
    ("search_memory", {"query": "tea", "since": "yesterdayish"}, "Not done"),
    ("save_memory", {"content": "Key: sk-ant-api03-" + "a1B2" * 24}, "secret"),
    ("entity_timeline", {"entity": "Nobody"}, "Nobody"),
    ("drop_table", {}, "There is no tool 'drop_table'"),
]


async def test_what_can_not_be_done_is_an_answer_marked_as_an_error_and_the_server_goes_on(connected):
    async with connected() as client:
        for tool, arguments, says in REFUSED:
            refused = await client.call_tool(tool, arguments)
            assert (tool, refused.is_error, says in _text(refused)) == (tool, True, True)
        assert not (await client.call_tool("list_memory_categories", {})).is_error


async def test_a_client_can_not_reach_another_space(memory, alice):
    memory.user("bob").knowledge.save("Bob's door code is on the fridge.")
    smuggled = {
        "query": "door code",
        "user_id": "bob",
        "space": "users/bob",
        "runtime": {"context": {"user_id": "bob"}},
    }
    async with Client(mcp_server(alice)) as connected:
        assert "fridge" not in _text(await connected.call_tool("search_memory", smuggled))


async def test_identity_palace_and_timeline_are_resources(connected):
    async with connected() as client:
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        read = [
            (await client.read_resource(uri)).contents[0].text
            for uri in ("memory://identity", "memory://palace", "memory://timeline/Ana%2FLena")
        ]
    assert listed == ["memory://identity", "memory://palace"]
    assert [template.uri_template for template in templates] == ["memory://timeline/{entity}"]
    assert "Speaks German." in read[0]
    assert "[§W-001/R-01]" in read[1]
    assert "session monday" in read[1]
    assert "Porto" in read[2]


async def test_a_resource_that_there_is_not_is_an_error_of_the_request(alice):
    async with Client(mcp_server(alice)) as connected:
        for uri in ("memory://timeline/Nobody", "memory://secrets", "file:///etc/passwd"):
            with pytest.raises(MCPError) as caught:
                await connected.read_resource(uri)
            assert caught.value.code == -32602
        assert (await connected.read_resource("memory://identity")).contents


async def test_the_writing_guidance_is_a_prompt(connected):
    async with connected() as client:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["writing_guidance"]
        prompt = await client.get_prompt("writing_guidance")
        with pytest.raises(MCPError, match="There is no prompt 'other'"):
            await client.get_prompt("other")
    assert prompt.messages[0].content.text == WRITING_GUIDANCE


async def test_a_memory_that_was_closed_is_an_error_and_no_crash(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        made = mcp_server(memory.user("alice"))
    async with Client(made) as connected:
        assert (await connected.call_tool("search_memory", {"query": "tea"})).is_error
        with pytest.raises(MCPError, match="Not done"):
            await connected.read_resource("memory://palace")


HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
)


def test_closing_standard_input_ends_it_and_only_the_protocol_was_printed(server):
    process = server()
    out, _ = process.communicate(f"{HELLO}no json\n", timeout=SECONDS)
    assert process.returncode == 0
    assert out
    assert all(line.startswith('{"jsonrpc":"2.0"') for line in out.splitlines())


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("options", [(), ("--http", "--port", "0")])
def test_ctrl_c_and_a_request_to_terminate_end_it_and_close_the_memory(server, folder, number, options):
    process = server(*options)
    if options:
        _announced(process)
    else:
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert process.stdout.readline()
    process.send_signal(number)
    # Its standard input stays open: nothing but the signal ends it.
    assert process.wait(timeout=SECONDS) == 0
    assert "Traceback" not in process.stderr.read()
    assert not list(folder.rglob("*-wal"))  # SQLite takes them away when the last connection is closed


async def test_a_client_with_the_token_of_the_environment_is_served_over_http_and_the_token_not_printed(server):
    process = server("--http", "--port", "0", LANGMEM_TIERS_MCP_TOKEN=TOKEN)
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
        Client(streamable_http_client(_announced(process), http_client=http)) as connected,
    ):
        assert not (await connected.call_tool("save_memory", {"content": "The user prefers tea."})).is_error
        assert "prefers tea" in _text(await connected.call_tool("search_memory", {"query": "tea"}))
        assert (await connected.call_tool("delete_memory", {})).is_error
    process.terminate()
    assert TOKEN not in process.communicate(timeout=SECONDS)[1]


def test_without_the_token_or_from_elsewhere_everything_is_refused(address):
    port = address.split(":")[2].partition("/")[0]
    right = {"Authorization": f"Bearer {TOKEN}", "Host": f"127.0.0.1:{port}"}
    wrong = {
        401: [{"Authorization": each} for each in ("", f"Bearer {TOKEN}x", "Bearer", f"Basic {TOKEN}", TOKEN)],
        421: [
            {"Host": each}
            for each in ("evil.example", f"evil.example:{port}", f"127.0.0.1:{port}.evil.example", "127.0.0.1", "")
        ],
        403: [
            {"Origin": each}
            for each in (
                "http://evil.example",
                "null",
                f"http://127.0.0.1:{port}.evil.example",
                f"https://127.0.0.1:{port}",
            )
        ],
    }
    with httpx2.Client() as http:
        answers = [
            (status, http.request(method, path, headers={**right, **headers}, content=HELLO).status_code)
            for status, refused in wrong.items()
            for headers in refused
            for method in ("GET", "POST", "DELETE", "OPTIONS")
            for path in (address, address.replace("/mcp", "/"))
        ]
        accepted = {**right, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        origin = {"Origin": f"http://127.0.0.1:{port}"}
        assert http.post(address, headers={**accepted, **origin}, content=HELLO).status_code == 200
        shouted = {**accepted, "Host": f"LocalHost:{port}"}
        assert http.post(address, headers=shouted, content=HELLO).status_code == 200
    assert len(answers) == 112
    assert [expected for expected, _ in answers] == [given for _, given in answers]


def test_a_line_that_is_no_message_is_told_of_without_its_words(server):
    process = server()
    out, errors = process.communicate("a secret, and no JSON\n", timeout=SECONDS)
    assert (out, "mcp_line_unreadable" in errors, "secret" in errors) == ("", True, False)


def test_it_listens_on_loopback_only_and_says_a_token_of_its_own_once(server):
    process = server("--http", "--port", "0", LANGMEM_TIERS_MCP_TOKEN="")
    assert _announced(process).startswith("http://127.0.0.1:")
    told = process.stderr.readline()
    token = told.rpartition(" ")[2].strip()
    process.terminate()
    out, rest = process.communicate(timeout=SECONDS)
    assert len(token) >= 40
    assert (out, token in rest) == ("", False)


@pytest.mark.parametrize(
    ("options", "environment", "code", "says"),
    [
        (("--user", "a", "mcp", "--port", "1"), {}, 2, "it goes with --http"),
        (("--user", "a", "mcp", "--http", "--port", "99999"), {}, 2, "--port"),
        (("--user", "a", "mcp", "--http"), {"LANGMEM_TIERS_MCP_TOKEN": "short"}, 1, "The token is too short"),
        (("mcp", "--space", "../etc"), {}, 1, "'../etc'"),
        (("mcp",), {}, 1, "Name one before the command"),
        (("--user", "a", "mcp", "--tools", "memory,everything"), {}, 1, "There is no tool 'everything'"),
        (("--user", "a", "mcp", "--tools", ""), {}, 1, "No tool is named"),
        (("--user", "a", "mcp", "--namespace", "../x"), {}, 1, "'../x' is no"),
        (("--user", "a", "mcp", "--namespace", ""), {}, 1, "no"),
        (("--user", "a", "mcp", "--namespace", "session/a/b"), {}, 1, "is no namespace"),
    ],
)
def test_wrong_usage_is_refused_and_no_folder_is_made(options, environment, code, says, tmp_path, monkeypatch, capsys):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as left:
        main(["--path", str(tmp_path / "new"), *options])
    told = capsys.readouterr()
    assert (left.value.code, told.out, says in told.err) == (code, "", True)
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_and_a_weak_token_are_refused_by_name(alice):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"Port {port}"):
            run_http(mcp_server(alice), port=port, token=TOKEN, listening=print)
    with pytest.raises(InvalidInput, match="token"):
        run_http(mcp_server(alice), port=0, token="with spaces in the token", listening=print)


def test_without_the_package_the_message_names_the_install_line(command, offline_environment):
    code = "import sys; sys.modules['mcp'] = None; from langmem_tiers.cli.main import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, *command[1:]], env=offline_environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "pip install 'langmem-tiers[mcp]'" in done.stderr) == (1, True)
