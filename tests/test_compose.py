"""The compose file: what it starts is there, and its commands do what they should, here without containers."""

import re
import shlex
import socket
import subprocess
import time
from contextlib import ExitStack

import httpx
import pytest
import yaml

from langmem_tiers import Memory
from tests import engines
from tests.test_workers import DUE, address, ask  # noqa: F401 - fixtures

PATIENCE = 120


@pytest.fixture
def compose(root):
    """What the compose file says."""
    return yaml.safe_load((root / "compose.yaml").read_text())


def test_every_image_has_a_version_and_every_volume_and_config_is_declared(compose):
    services = compose["services"]
    assert services.keys() == {"postgres", "chroma", "worker", "service"}
    assert services["worker"]["deploy"]["replicas"] == 2
    for service in services.values():
        assert "build" in service or re.fullmatch(r"[a-z/]+:\d+(\.\d+)+", service["image"])
        for each in service["volumes"]:
            assert each.partition(":")[0] in compose["volumes"]
        assert all(each["source"] in compose["configs"] for each in service.get("configs", ()))
        assert service.get("depends_on", {}).keys() <= services.keys()


def test_the_memory_has_a_role_of_its_own_that_is_no_superuser(compose):
    path = compose["services"]["service"]["environment"]["LANGMEM_TIERS_PATH"]
    role, database = re.match(r"postgresql://(\w+):.*/(\w+)$", path).groups()
    sql = compose["configs"]["role"]["content"]
    assert f"CREATE ROLE {role} LOGIN PASSWORD" in sql
    assert f"CREATE DATABASE {database} OWNER {role}" in sql
    assert "SUPERUSER" not in sql


def test_the_image_takes_along_what_it_copies(root):
    copied = re.findall(r"^COPY (.*) \S+$", (root / "Dockerfile").read_text(), re.MULTILINE)
    allowed = set(re.findall(r"^!(\S+)$", (root / ".dockerignore").read_text(), re.MULTILINE))
    for each in " ".join(copied).split():
        assert (root / each).exists()
        assert each.partition("/")[0] in allowed


@pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server")
def test_the_commands_of_worker_and_service_work_together(compose, root, address, ask, offline_environment):  # noqa: F811
    pytest.importorskip("langgraph.checkpoint.postgres", reason="langgraph-checkpoint-postgres is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **offline_environment,
        "LANGMEM_TIERS_PATH": address,
        "LANGMEM_TIERS_STORAGE__CHROMA": engines.CHROMA or "http://127.0.0.1:1",
        "LANGMEM_TIERS_EMBEDDER": "none",
    }
    assert compose["services"]["worker"]["environment"].keys() <= {*environment, "LANGMEM_TIERS_MODEL"}

    def start(name):
        command = compose["services"][name]["command"].replace("8000", str(port)).replace("0.0.0.0", "127.0.0.1")
        return subprocess.Popen(shlex.split(command), env=environment, cwd=root / "examples", stderr=subprocess.DEVNULL)

    with ExitStack() as stopping:
        running = [start("worker"), start("worker"), start("service")]
        for each in running:
            stopping.callback(each.kill)
        url = f"http://127.0.0.1:{port}"
        _until(lambda: _ready(url))
        says = {"json": {"text": "My cat Miso sleeps on the radiator."}, "timeout": PATIENCE}
        for token in ("alice-token", "bob-token"):
            answer = httpx.post(f"{url}/chat/monday", **says, headers={"Authorization": f"Bearer {token}"})
            assert "event: token" in answer.text
        _until(lambda: ask(DUE) == [(0,)])
        for each in running:
            each.terminate()
        assert [each.wait(PATIENCE) in {0, -15} for each in running] == [True] * 3
    with Memory.open(address, embedder=None, background=False) as memory:
        assert memory.spaces() == ("users/alice", "users/bob")


def _ready(url):
    try:
        return httpx.get(f"{url}/ready", timeout=10).status_code == 200
    except httpx.HTTPError:
        return False


def _until(true):
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.2)
