"""What all tests share: no network, and a memory that is deterministic."""

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from langmem_tiers import Memory, Space
from langmem_tiers.models.minilm import MiniLM
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests import engines
from tests.warm_python import WarmPython

# A shell tells what it starts in the background to ignore Ctrl-C, and every command of the tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

with warnings.catch_warnings():
    # The lowest Typer asks for what the newest Click is about to drop.
    warnings.simplefilter("ignore", DeprecationWarning)
    import typer.main

# A process runs one command line, a test many: what Typer makes of all commands each time is most of what one takes.
typer.main.get_command = cache(typer.main.get_command)

ROOT = Path(__file__).parent.parent
OFFLINE = ROOT / "tests" / "offline"

# The name `sitecustomize` is taken in this process: load the guard under its own.
exec(compile((OFFLINE / "sitecustomize.py").read_text(), "offline", "exec"), {})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that need the embedding model on a machine that does not have it yet."""
    wanting = [each for each in items if each.get_closest_marker("model")]
    if wanting and not (model := MiniLM()).available():
        told = f"the MiniLM files are not in {model.folder}; `make demo` downloads them"
        for each in wanting:
            each.add_marker(pytest.mark.skip(reason=told))


@pytest.fixture(scope="module", autouse=True)
def _engine(request: pytest.FixtureRequest) -> Iterator[None]:
    """The engine that the tests of a module run over, with what they share."""
    with pytest.MonkeyPatch.context() as patches:
        if engines.ENGINE == "postgres" and request.node.get_closest_marker("by_address") is None:
            engines.of_tests(patches)
        yield


@pytest.fixture(autouse=True)
def _apart() -> Iterator[None]:
    """What one test keeps, the next one does not find, even in a folder of the same name."""
    engines.begin_test()
    yield
    engines.end_test()


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def offline_environment() -> dict[str, str]:
    """The environment for processes that tests start: no network, no settings of this machine's user."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LANGMEM_TIERS_")}
    scripts = str(Path(sys.executable).parent)
    return {
        **kept,
        "PATH": os.pathsep.join([scripts, kept.get("PATH", "")]),
        "PYTHONPATH": str(OFFLINE),
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "100",
    }


@pytest.fixture(scope="session")
def warm_python(offline_environment):
    """Runs scripts, each in an interpreter of its own that has the heavy imports behind it."""
    python = WarmPython(offline_environment)
    yield python
    python.close()


@pytest.fixture(scope="module")
def postgres():
    """A PostgreSQL server of the module's own, which a test may stop and start again."""
    from tests import servers  # its driver is not there where the lowest versions are tested

    server = servers.Postgres()
    yield server
    server.remove()


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that stands at Monday, 2 March 2026, 9:00 UTC until it is told to tick."""
    return FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))


@pytest.fixture
def memory(tmp_path, clock):
    """An empty memory with a deterministic embedder and no worker thread: `flush` does the work."""
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False, clock=clock) as opened:
        yield opened


@pytest.fixture
def alice(memory) -> Space:
    """The space of one user."""
    return memory.user("alice")
