"""The compose file: what it starts is there, and its commands do what they should, mostly without containers."""

import json
import os
import re
import shlex
import shutil
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
PROJECT = "langmem-tiers-test"
# Every one of these has a meaning in an address, in SQL, in a shell or in a compose file.
PASSWORD = "a@b/c#d'e$f%g:h\"i\\j k?&${l}$$"


@pytest.fixture
def compose(root):
    """What the compose file says."""
    return yaml.safe_load((root / "compose.yaml").read_text())


def test_every_image_has_a_version_and_every_volume_and_config_is_declared(compose):
    services = compose["services"]
    assert services.keys() == {"postgres", "chroma", "worker", "service"}
    assert services["worker"]["deploy"]["replicas"] == 2
    for name, service in services.items():
        own = name in {"worker", "service"}
        assert own or re.fullmatch(r"[a-z/]+:\d+(\.\d+)+", service["image"])
        for each in service["volumes"]:
            assert each.partition(":")[0] in compose["volumes"]
        assert all(each["source"] in compose["configs"] for each in service.get("configs", ()))
        assert service.get("depends_on", {}).keys() <= services.keys()


def test_one_image_is_built_once_for_the_service_and_the_workers(compose):
    services = compose["services"]
    assert [name for name, each in services.items() if "build" in each] == ["service"]
    assert services["worker"]["image"] == services["service"]["image"]


def test_the_chroma_server_is_of_the_version_of_its_client(compose, root):
    version = compose["services"]["chroma"]["image"].partition(":")[2]
    assert f"chromadb=={version}" in (root / "constraints.txt").read_text().splitlines()


def test_the_memory_has_a_role_of_its_own_that_is_no_superuser(compose):
    services = compose["services"]
    role, database = re.fullmatch(
        r"postgresql://(\w+)@postgres:5432/(\w+)", services["service"]["environment"]["LANGMEM_TIERS_PATH"]
    ).groups()
    sql = compose["configs"]["role"]["content"]
    assert f"CREATE ROLE {role} LOGIN PASSWORD" in sql
    assert f"CREATE DATABASE {database} OWNER {role}" in sql
    assert "SUPERUSER" not in sql
    assert "ALTER ROLE postgres PASSWORD NULL" in sql
    assert f"-U {role} -d {database}" in services["postgres"]["healthcheck"]["test"]


def test_the_password_goes_where_each_character_stands_for_itself(compose):
    having = {
        (name, variable)
        for name, service in compose["services"].items()
        for variable, value in service.get("environment", {}).items()
        if "MEMORY_PASSWORD" in str(value)
    }
    assert having == {("postgres", "POSTGRES_PASSWORD"), ("worker", "PGPASSWORD"), ("service", "PGPASSWORD")}
    sql = compose["configs"]["role"]["content"]
    assert "$" not in sql
    assert "\\getenv password POSTGRES_PASSWORD" in sql
    assert "PASSWORD :'password'" in sql


def test_the_key_of_the_model_is_passed_on(compose):
    for name in ("worker", "service"):
        environment = compose["services"][name]["environment"]
        assert "LANGMEM_TIERS_MODEL" in environment
        assert environment["OPENAI_API_KEY"] is None  # as it is outside, and not there if it is not there


def test_who_keeps_something_has_time_to_stop(compose):
    services = compose["services"]
    assert all("stop_grace_period" in services[name] for name in ("postgres", "worker", "service"))


def test_the_build_sees_what_it_copies_and_nothing_else(root):
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (root / "Dockerfile").read_text(), re.MULTILINE)
    allowed = re.findall(r"^!(\S+)$", (root / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(" ".join(copied).split()) == sorted(allowed)
    assert all((root / each).exists() for each in allowed)


def test_the_image_has_no_sources_beside_the_service_and_runs_as_no_root(root):
    last = (root / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.findall(r"^COPY (?!--from)(\S+)", last, re.MULTILINE) == ["examples/fastapi_service.py"]
    assert re.findall(r"^USER (.+)$", last, re.MULTILINE) == ["app"]


@pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server")
def test_the_commands_of_worker_and_service_work_together(compose, root, address, ask, offline_environment):  # noqa: F811
    pytest.importorskip("langgraph.checkpoint.postgres", reason="langgraph-checkpoint-postgres is not installed")
    port = _free_port()
    environment = {
        **offline_environment,
        "LANGMEM_TIERS_PATH": address,
        "LANGMEM_TIERS_STORAGE__CHROMA": engines.CHROMA or "http://127.0.0.1:1",
        "LANGMEM_TIERS_EMBEDDER": "none",
    }
    given = {*environment, "LANGMEM_TIERS_MODEL", "OPENAI_API_KEY", "PGPASSWORD"}
    assert compose["services"]["worker"]["environment"].keys() <= given

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


class Containers:
    """The compose file run by Docker, under a name and on a port of its own."""

    def __init__(self, root):
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._root = root
        self._environment = {**os.environ, "MEMORY_PASSWORD": PASSWORD, "MEMORY_PORT": str(port)}

    def __call__(self, *arguments):
        """What `docker compose` answers."""
        return self.docker("compose", "--project-name", PROJECT, *arguments)

    def docker(self, *arguments):
        done = _run("docker", *arguments, cwd=self._root, env=self._environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def up(self):
        self("up", "--build", "--detach", "--wait")

    def sql(self, statement):
        return self("exec", "-T", "postgres", "psql", "-U", "postgres", "-d", "memories", "-Atc", statement).strip()

    def says(self, user, text):
        """The reply to a user, in a conversation that begins with this."""
        headers = {"Authorization": f"Bearer {user}-token"}
        answer = httpx.post(f"{self.url}/chat/{time.time_ns()}", json={"text": text}, headers=headers, timeout=PATIENCE)
        assert "event: error" not in answer.text
        return "".join(re.findall(r'^event: token\ndata: "(.*)"$', answer.text, re.MULTILINE))

    def until_done(self):
        """Wait until no space has work."""
        _until(lambda: self.sql(DUE.replace("spaces", "langmem_tiers.spaces")) == "0")


@pytest.fixture
def containers(root):
    if os.environ.get("COMPOSE") != "run":
        pytest.skip("`make test-compose` builds and runs containers")
    if not shutil.which("docker") or _run("docker", "compose", "ls").returncode:
        pytest.skip("Docker does not run here, or has no compose")
    containers = Containers(root)
    yield containers
    containers("down", "--volumes")
    containers.docker("image", "rm", f"{PROJECT}-service")


def test_containers_serve_two_users_and_outlive_each_other(containers):
    containers.up()
    assert containers.says("alice", "My cat Miso sleeps on the radiator.")
    assert "radiator" in containers.says("alice", "Where does Miso sleep?")
    assert "radiator" not in containers.says("bob", "Where does Miso sleep?")
    containers.until_done()

    containers("stop", "chroma")
    assert httpx.get(f"{containers.url}/ready").json() == {"records": True, "vectors": False}
    assert "radiator" in containers.says("alice", "Where does Miso sleep?")
    containers("start", "chroma")
    _until(lambda: httpx.get(f"{containers.url}/ready").json()["vectors"])

    containers.docker("kill", f"{PROJECT}-worker-1")
    containers.says("bob", "I moved to Lisbon in March.")
    containers.until_done()

    containers("restart", "postgres")
    _until(lambda: _ready(containers.url))
    assert "Lisbon" in containers.says("bob", "Did I move to Lisbon?")

    containers("down")
    containers.up()
    assert "radiator" in containers.says("alice", "Where does Miso sleep?")
    containers("stop")
    stopped = containers("ps", "--all", "--format", "json", "worker", "service", "postgres")
    assert [json.loads(line)["ExitCode"] for line in stopped.splitlines()] == [0] * 4


def test_the_image_is_the_installed_package_and_the_service_which_nobody_in_it_can_change(containers):
    containers("build")

    def run(script):
        return containers("run", "--rm", "--no-deps", "-T", "service", "sh", "-c", script).splitlines()

    assert run("ls /srv") == ["fastapi_service.py"]
    assert run("id -un; touch /srv/new 2> /dev/null || echo refused") == ["app", "refused"]
    assert "packages" in run("python -c 'import langmem_tiers; print(langmem_tiers.__file__)'")[0]
    assert run("find / -path /proc -prune -o -name 'test_*.py' -path '*langmem*' -print 2> /dev/null; true") == []


def _run(*command, **given):
    return subprocess.run(command, check=False, capture_output=True, text=True, **given)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


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
