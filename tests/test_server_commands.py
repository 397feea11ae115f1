"""Commands that take the address of a memory on servers as they take a folder."""

import io
import json
import re
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from sqlalchemy.engine import make_url

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from tests import engines
from tests.test_bench_retrieval import LOCOMO
from tests.test_workers import address  # noqa: F401 - a fixture

pytestmark = [
    pytest.mark.by_address,
    pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server"),
]
SAID = "My sister Lena moved to Porto."


@pytest.fixture
def where(address):  # noqa: F811
    """What a command is told of a memory on servers, in which Alice has said something."""
    with Memory.open(address, chroma=engines.CHROMA or None, embedder=None, background=False) as memory:
        memory.user("alice").track([Turn(role="user", content=SAID)], session="monday")
        memory.flush()
    chroma = ["--chroma", engines.CHROMA] if engines.CHROMA else []
    return ["--path", address, *chroma, "--embedder", "none", "--user", "alice"]


@pytest.fixture
def run(where, capsys):
    """Runs a command: its exit code, and what it says."""

    def ran(*words):
        with pytest.raises(SystemExit) as left:
            main([*where, *words])
        output = capsys.readouterr()
        return left.value.code or 0, output.out + output.err

    return ran


def test_a_chat_answers_from_memory_and_remembers(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("Where does my sister Lena live?\nLena has a daughter named Ines.\n"))
    code, said = run("chat", "--session", "tuesday", "--show")
    assert (code, SAID in said) == (0, True), said
    assert "Ines" in run("recall", "daughter Ines")[1]


async def test_an_mcp_client_reads_and_writes(where, offline_environment, run):
    script = str(Path(sys.executable).with_name("langmem-tiers"))
    started = StdioServerParameters(command=script, args=[*where, "mcp"], env=offline_environment)
    async with Client(stdio_client(started)) as client:
        await client.call_tool("save_memory", {"content": "Lena plays the cello."})
        found = await client.call_tool("search_memory", {"query": "What does Lena play?"})
        assert "cello" in found.content[0].text
    assert "cello" in run("recall", "What does Lena play?")[1]


def test_sync_writes_what_is_known_into_a_folder_and_takes_over_what_is_edited_there(run, where, tmp_path):
    with Memory.open(where[1], embedder=None, background=False) as memory:
        memory.user("alice").knowledge.save("Lena plays the cello.")
    assert run("sync", str(tmp_path / "notes"))[0] == 0
    [known] = [each for each in tmp_path.rglob("*.md") if "cello" in each.read_text()]
    known.write_text(known.read_text().replace("cello", "violin"))
    assert run("sync", str(tmp_path / "notes"))[0] == 0
    assert "violin" in run("recall", "What does Lena play?")[1]


@pytest.mark.parametrize("command", ["stats", "palace"])
def test_the_place_of_a_space_is_its_database_without_the_password(run, where, command):
    server = make_url(where[1])
    where[1] = server.set(password="s3cret").update_query_dict({"password": "s3cret"}).render_as_string(False)
    code, said = run(command)
    assert (code, "s3cret" in said) == (0, False)
    shown = server.set(password=None).difference_update_query(["password"]).render_as_string()
    assert f"Database: {shown}\n" in said
    assert "Folder:" not in said


def test_the_figures_of_a_space_are_those_of_its_rows_and_not_of_files(run):
    rows = dict(re.findall(r"^(\w[\w ]*?) {2,}([\d,]+)$", run("stats")[1], re.MULTILINE))
    assert int(rows["bytes of text"].replace(",", "")) > 0
    assert int(rows["database bytes"].replace(",", "")) > 0
    assert not {"chroma bytes", "index bytes", "bytes of index file", "bytes of Chroma"} & rows.keys()


def test_a_benchmark_asks_over_servers_what_it_asks_over_a_folder_and_leaves_nothing(run, where, tmp_path):
    data = tmp_path / "locomo.json"
    data.write_text(json.dumps(LOCOMO))
    asked = ["bench", "retrieval", "--dataset", "locomo", "--data", str(data), "--keyword-only"]
    outs = [tmp_path / "servers" / "log.jsonl", tmp_path / "folder" / "log.jsonl"]
    assert run(*asked, "--out", str(outs[0]), "--on-servers")[0] == 0
    assert run(*asked, "--out", str(outs[1]))[0] == 0
    on_servers, in_folder = ([json.loads(line) for line in out.read_text().splitlines()] for out in outs)
    assert [each["drawers"] for each in on_servers] == [each["drawers"] for each in in_folder]
    assert any(each["drawers"] for each in on_servers)
    with Memory.open(where[1], embedder=None, background=False) as memory:
        assert list(memory.spaces()) == ["users/alice"]
