"""A PostgreSQL server and a Chroma server of the tests: started on free ports, and stopped.

    python -m tests.servers tests/test_track.py …

runs these tests over both, without those that are about files. POSTGRES names a running server, where a database is
made and dropped again; CHROMA names a running Chroma server.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import psycopg
from sqlalchemy.engine import make_url

PATIENCE = 60.0
OWNER, GUARDED = "langmem", "guarded"
"""The role that owns the database and may do no more than that, and one that is asked for its password."""


def have_pgbouncer() -> bool:
    """Whether PgBouncer is on this machine; Debian has it where only root looks."""
    return shutil.which("pgbouncer") is not None or Path("/usr/sbin/pgbouncer").exists()


def have_postgres() -> bool:
    """Whether PostgreSQL's programs are on this machine."""
    return _programs() is not None


class Postgres:
    """A PostgreSQL server of its own, in a temporary folder; a `durable` one waits for its disk, as real ones do.

    `settings` are further ones, as name=value. One `beside` another stands by for it, and takes no changes until then.
    """

    def __init__(self, *, durable: bool = False, settings: Sequence[str] = (), beside: Postgres | None = None) -> None:
        programs = _programs()
        if programs is None:
            raise SystemExit(
                "PostgreSQL is not installed (Debian's package: postgresql), and POSTGRES names no server."
            )
        self.programs = programs
        fixed = ("listen_addresses=127.0.0.1", f"fsync={'on' if durable else 'off'}", "max_connections=200")
        self._settings = [part for each in (*fixed, *settings) for part in ("-c", each)]
        self.port = _free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="langmem-tiers-postgres-"))
        # PostgreSQL does not run as root.
        self.run_as: dict[str, Any] = {}
        self.owner = (os.geteuid(), os.getegid())
        if os.geteuid() == 0:
            self.run_as = {"user": "postgres", "group": "postgres", "extra_groups": []}
            self.owner = (pwd.getpwnam("postgres").pw_uid, pwd.getpwnam("postgres").pw_gid)
            os.chown(self._folder, *self.owner)
        self._data = self._folder / "data"
        if beside is not None:
            copied = [programs / "pg_basebackup", "-h", "127.0.0.1", "-p", str(beside.port), "-U", "postgres"]
            self._run([*copied, "-D", self._data, "-R", "-c", "fast", "--no-sync"])
            self.start()
            return
        made = [programs / "initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", "postgres"]
        self._run([*made, "-D", self._data])
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"host all {GUARDED} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        self.start()
        self.as_superuser(f"CREATE ROLE {OWNER} LOGIN", f"CREATE DATABASE {OWNER} OWNER {OWNER}")

    @property
    def process(self) -> int:
        """The id of its first process."""
        return self._process.pid

    @property
    def sockets(self) -> Path:
        """The folder of its Unix socket."""
        return self._folder

    def address(self, role: str = OWNER, database: str = OWNER) -> str:
        """The address for a role."""
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """The address of a new database of the owner, which is dropped at the end."""
        with a_database(self.address("postgres", "postgres")) as made:
            name = make_url(made).database or ""
            self.as_superuser(f"ALTER DATABASE {name} OWNER TO {OWNER}")
            yield self.address(database=name)

    def as_superuser(self, *statements: str, database: str = "postgres") -> None:
        """Execute statements, each for itself."""
        with psycopg.connect(self.address("postgres", database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            command = [self.programs / "postgres", "-D", self._data, "-p", str(self.port), "-k", self._folder]
            self._process = subprocess.Popen(
                [*command, *self._settings], cwd=self._folder, stdout=log, stderr=log, **self.run_as
            )
        _wait_for(lambda: psycopg.connect(self.address("postgres", "postgres"), connect_timeout=2).close(), OSError)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """During the block, it answers nothing, and takes connections all the same, as if its machine had stopped."""
        asked = subprocess.run(["pgrep", "-P", str(self.process)], capture_output=True, text=True, check=True)
        processes = [self.process, *map(int, asked.stdout.split())]
        try:
            for each in processes:
                os.kill(each, signal.SIGSTOP)
            yield
        finally:
            for each in processes:
                os.kill(each, signal.SIGCONT)

    def promote(self) -> None:
        """Have one that stands by take changes from now on."""
        self._run([self.programs / "pg_ctl", "promote", "--wait", "-D", self._data])

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT breaks off what runs, SIGQUIT leaves it as a crash does."""
        self._process.send_signal(how)
        self._process.wait(PATIENCE)

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self.stop()
        shutil.rmtree(self._folder)

    def _run(self, command: list[Any]) -> None:
        subprocess.run(command, check=True, cwd=self._folder, stdout=subprocess.DEVNULL, **self.run_as)


class PgBouncer:
    """PgBouncer before a PostgreSQL server, which it gives so many connections to a database; `settings` as lines."""

    def __init__(self, postgres: Postgres, *, mode: str = "transaction", pool: int = 20, settings: str = "") -> None:
        program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        self.port = _free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="langmem-tiers-pgbouncer-"))
        users, told = self._folder / "users", self._folder / "settings"
        users.write_text("".join(f'"{role}" ""\n' for role in (OWNER, "postgres")))
        told.write_text(
            f"[databases]\n* = host=127.0.0.1 port={postgres.port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = trust\n"
            f"auth_file = {users}\npool_mode = {mode}\ndefault_pool_size = {pool}\n{settings}\n"
        )
        for each in (self._folder, users, told):
            os.chown(each, *postgres.owner)
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen([program, told], stdout=log, stderr=log, **postgres.run_as)
        _wait_for(lambda: psycopg.connect(self.address(), connect_timeout=2).close())

    def address(self, database: str = OWNER) -> str:
        """The address of a database behind it."""
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}"

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self._process.terminate()
        self._process.wait(PATIENCE)
        shutil.rmtree(self._folder)


class Chroma:
    """A Chroma server of its own, in a temporary folder."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="langmem-tiers-chroma-"))
        self._port = _free_port()
        self.address = f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        program = Path(sys.executable).parent / "chroma"
        data = ["--path", self._folder / "data", "--host", "127.0.0.1", "--port", str(self._port)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([program, "run", *data], cwd=self._folder, stdout=log, stderr=log)
        _wait_for(lambda: urlopen(f"{self.address}/api/v2/heartbeat", timeout=2).close(), OSError)

    @property
    def process(self) -> int:
        """The id of its process."""
        return self._process.pid

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def pause(self) -> None:
        """Let it answer nothing, and take connections all the same."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """End the pause."""
        self._process.send_signal(signal.SIGCONT)

    def lose_data(self) -> None:
        """Delete what it kept; it must not be running."""
        shutil.rmtree(self._folder / "data")

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self.kill()
        shutil.rmtree(self._folder)


@contextmanager
def a_database(address: str) -> Iterator[str]:
    """The address of a new database on a running server, which is dropped at the end."""
    name = f"langmem_tiers_{uuid4().hex[:12]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield make_url(address).set(database=name).render_as_string(hide_password=False)
    finally:
        # A role of its own may not end the server's process that is just cleaning up in there.
        _wait_for(lambda: _drop(address, name), psycopg.errors.InsufficientPrivilege)


def _drop(address: str, name: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian has one for each version."""
    of_debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[-3]))
    found = str(of_debian[-1]) if of_debian else shutil.which("initdb")
    return Path(found).parent if found else None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(try_it: Callable[[], None], *passing: type[Exception]) -> None:
    """Try until it succeeds."""
    until = monotonic() + PATIENCE
    while True:
        try:
            return try_it()
        except (psycopg.OperationalError, *passing):
            if monotonic() > until:
                raise
            sleep(0.1)


def main(arguments: list[str]) -> int:
    """Run tests over the servers."""
    with ExitStack() as last_to_first:
        if named := os.environ.get("POSTGRES"):
            postgres = last_to_first.enter_context(a_database(named))
        else:
            own = Postgres()
            last_to_first.callback(own.remove)
            postgres = own.address()
        chroma = os.environ.get("CHROMA")
        if chroma is None:
            server = Chroma()
            last_to_first.callback(server.remove)
            chroma = server.address
        environment = {**os.environ, "ENGINE": "postgres", "POSTGRES": postgres, "CHROMA": chroma}
        command = [sys.executable, "-m", "pytest", "-m", "not folder", *arguments]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
