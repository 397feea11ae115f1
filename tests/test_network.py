"""The network: nothing is looked up or connected to, but the declared download of the embedding model."""

import json
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

from langmem_tiers import Memory
from langmem_tiers.errors import MissingExtra
from langmem_tiers.settings import ModelSettings, Settings

LIFE = """
import json, sys

wanted = []

def note(event, arguments):
    if event == "socket.getaddrinfo":
        wanted.append(str(arguments[0]))
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        wanted.append(str(arguments[1][0]))
    else:
        return
    raise ConnectionError("the network is off")

sys.addaudithook(note)

from langchain_core.messages import HumanMessage
from langmem_tiers import Memory, Turn
from langmem_tiers.graphs import memory_agent
from langmem_tiers.integrations import OfflineResponder
from langmem_tiers.settings import ModelSettings, Settings

folder, tables = sys.argv[1], sys.argv[2] == "tables"
with Memory.open(folder, settings=Settings(model=ModelSettings(token_tables=tables))) as memory:
    alice = memory.user("alice")
    alice.track([Turn(role="user", content="My sister Lena lives in Porto. I prefer tea.")], session="monday")
    alice.end_session("monday")
    alice.flush()
    alice.recall("Where does Lena live?", session="tuesday")
    alice.dream()
    alice.export(folder + ".json")
    alice.doctor()
    agent = memory_agent(OfflineResponder(), memory)
    agent.invoke({"messages": [HumanMessage("Hello, I like hiking.")]}, context={"user_id": "bob"})
    memory.flush()
print(json.dumps(sorted(set(wanted))))
"""


def wanted(folder, environment, tables="estimated"):
    """The hosts that a life of a memory asks for, in a process of its own."""
    command = [sys.executable, "-c", LIFE, str(folder), tables]
    told = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    return json.loads(told.stdout.splitlines()[-1])


@pytest.fixture
def environment(offline_environment, tmp_path):
    """No model and no tables in any cache; the script keeps the network away itself."""
    own = {name: value for name, value in offline_environment.items() if name != "PYTHONPATH"}
    return {**own, "HOME": str(tmp_path), "TIKTOKEN_CACHE_DIR": str(tmp_path / "tables")}


def test_only_the_embedding_model_is_fetched(tmp_path, environment):
    assert wanted(tmp_path / "m", environment) == [urlsplit(ONNXMiniLM_L6_V2.MODEL_DOWNLOAD_URL).hostname]


@pytest.mark.model
def test_with_the_embedding_model_there_nothing_is_asked_for(tmp_path, offline_environment):
    own = {name: value for name, value in offline_environment.items() if name != "PYTHONPATH"}
    assert wanted(tmp_path / "m", own) == []


def test_tables_of_tokens_are_fetched_if_they_are_wished_for(tmp_path, environment):
    assert len(wanted(tmp_path / "m", environment, "tables")) == 2


def test_tables_that_are_wished_for_without_their_package_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingExtra, match=r"langmem-tiers\[tokens\]"):
        Memory.open(tmp_path / "m", settings=Settings(model=ModelSettings(token_tables=True)), embedder=None)
    assert not (tmp_path / "m").exists()
