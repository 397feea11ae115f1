"""Hostile files for every door that reads one, each tried in a process of its own that is measured.

`python -m tests.hostile_files FOLDER` prints a JSON line for each: its name, what came of it, seconds, megabytes at the
peak, and what is in its folder afterwards that was not before.
"""

import hashlib
import io
import json
import os
import resource
import shutil
import sqlite3
import struct
import sys
import tarfile
import time
import zipfile
from contextlib import closing
from pathlib import Path

from langmem_tiers import Memory
from langmem_tiers.errors import MemoryTiersError
from tests import import_samples as samples

MB = 1 << 20
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"


def repeated(part, times, begin=b"", end=b""):
    """A large file, written piece by piece so that making it takes no memory."""

    def write(path):
        with path.open("wb") as stream:
            stream.write(begin)
            for _ in range(times // 1000):
                stream.write(part * 1000)
            stream.write(end)

    return write


# SQLite files of other programs.


def langgraph(*statements):
    """A store of LangGraph, made by statements of somebody else."""

    def write(path):
        made = "CREATE TABLE store (prefix, key, value, created_at, updated_at)"
        samples.database(path, *((each, None) for each in statements or (made,)))

    return write


def computed(expression):
    return langgraph(
        f"CREATE TABLE store (prefix, key, value AS ({expression}), created_at, updated_at)",
        "INSERT INTO store (prefix, key) VALUES ('memories.ann', 'k')",
    )


PLAIN = "CREATE TABLE store (prefix, key, value, created_at, updated_at)"
ROW = "INSERT INTO store VALUES ('memories.ann', 'k', '{\"content\": \"Likes tea\"}', '2024-05-08', '2024-05-08')"
TRIGGER = "CREATE TRIGGER t AFTER INSERT ON store BEGIN DELETE FROM store; END"


def with_page(number, data):
    """A sound file whose page was written over."""

    def write(path):
        langgraph(PLAIN, *[ROW] * 200)(path)
        held = bytearray(path.read_bytes())
        held[(number - 1) * 4096 : number * 4096] = (data * 4096)[:4096]
        path.write_bytes(held)

    return write


def chroma(*statements):
    """A folder like one of Chroma, with the tables that are looked at, made by somebody else."""
    plain = (
        "CREATE TABLE collections (id, name)",
        "CREATE TABLE segments (id, collection, scope)",
        "CREATE TABLE embeddings (id, segment_id, embedding_id)",
        "CREATE TABLE embedding_metadata (id, key, string_value, int_value, float_value, bool_value)",
        "INSERT INTO collections VALUES (1, 'mempalace_drawers')",
        "INSERT INTO segments VALUES (1, 1, 'METADATA')",
    )

    def write(path):
        path.mkdir()
        samples.database(path / "chroma.sqlite3", *((each, None) for each in (*plain, *statements)))

    return write


SLOW = (
    f"INSERT INTO embeddings {ENDLESS} x, 1, 'd' || x FROM n LIMIT 200000",
    f"INSERT INTO embedding_metadata {ENDLESS} x, 'wing', 'w', 1, 1.0, NULL FROM n LIMIT 200000",
)
BIG = ("INSERT INTO embeddings VALUES (1, 1, 'd')",)
SQLITE = {
    "a trigger": ("langmem", langgraph(PLAIN, ROW, TRIGGER)),
    "a view for a table": (
        "langmem",
        langgraph(f"CREATE VIEW store AS {ENDLESS} x AS prefix, x AS key, x AS value FROM n"),
    ),
    "a virtual table": (
        "langmem",
        langgraph("CREATE VIRTUAL TABLE store USING fts5(prefix, key, value, created_at, updated_at)"),
    ),
    "a computed bomb": ("langmem", computed("hex(zeroblob(400000000))")),
    "a computed value": ("langmem", computed("'{}'")),
    "a value of 300 MB": (
        "langmem",
        langgraph(PLAIN, "INSERT INTO store VALUES ('p', 'k', zeroblob(300000000), 1, 1)"),
    ),
    "many values of 20 MB": (
        "langmem",
        langgraph(PLAIN, *["INSERT INTO store VALUES ('p', 'k', hex(zeroblob(10000000)), 1, 1)"] * 12),
    ),
    "a damaged root": ("langmem", with_page(2, b"\xff")),
    "a page of zeros": ("langmem", with_page(3, b"\0")),
    "a ring of pages": (
        "langmem",
        with_page(2, struct.pack(">BHHHBI", 5, 0, 1, 4090, 0, 2) + struct.pack(">HI", 4090, 2)),
    ),
    "a header only": ("langmem", b"SQLite format 3\0" + bytes(84)),
    "a link to another file": ("langmem", lambda path: path.symlink_to("/etc/passwd")),
    "a sort without end": ("mempalace", chroma(*SLOW)),
    "a document of 300 MB": (
        "mempalace",
        chroma(*BIG, "INSERT INTO embedding_metadata VALUES (1, 'chroma:document', zeroblob(300000000), 1, 1, 1)"),
    ),
    "collections that are a view": (
        "mempalace",
        chroma("DROP TABLE collections", f"CREATE VIEW collections AS {ENDLESS} x AS id, x AS name FROM n"),
    ),
    "a folder without rows": ("mempalace", chroma()),
}


# Backups.


def sealed(held):
    held.pop("checksum", None)
    told = hashlib.blake2b(json.dumps(held, sort_keys=True).encode(), digest_size=32).hexdigest()
    return json.dumps({**held, "checksum": told}).encode()


def with_database(*statements):
    """A backup whose database somebody changed, and who sealed it again."""

    def write(folder):
        [file] = folder.glob("spaces/*/memory.db")
        with closing(sqlite3.connect(file)) as connection:
            for each in statements:
                connection.execute(each)
            connection.commit()
        manifest = json.loads((folder / "backup.json").read_bytes())
        for each in manifest["files"]:
            if each["path"].endswith("memory.db"):
                data = file.read_bytes()
                each.update(bytes=len(data), blake2b=hashlib.blake2b(data, digest_size=32).hexdigest())
        (folder / "backup.json").write_bytes(sealed(manifest))

    return write


def manifest_of(content):
    return lambda folder: written(folder / "backup.json", content)


def tarred(*, names=None, kind=None, times=1):
    """A backup as tar file with members that lead elsewhere, put in the place of the folder."""

    def write(folder):
        with tarfile.open(folder.with_name("made.tar"), "w") as made:
            for number in range(times):
                info = tarfile.TarInfo(names or f"f{number}.md")
                info.type, info.linkname = kind or tarfile.REGTYPE, "/etc/passwd"
                made.addfile(info, io.BytesIO())
            made.add(folder / "backup.json", "backup.json")
        shutil.rmtree(folder)
        folder.with_name("made.tar").rename(folder)

    return write


def zip_bomb(folder):
    held = (folder / "backup.json").read_bytes()
    with zipfile.ZipFile(folder.with_name("made"), "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("backup.json", held)
        with made.open("langmem-tiers.json", "w", force_zip64=True) as stream:
            for _ in range(1000):
                stream.write(bytes(MB))
    shutil.rmtree(folder)
    folder.with_name("made").rename(folder)


def piped(folder):
    [file] = folder.glob("spaces/*/memory.db")
    file.unlink()
    os.mkfifo(file)


BACKUPS = {
    "a trigger": with_database("CREATE TRIGGER t AFTER DELETE ON facts BEGIN DELETE FROM drawers; END"),
    "a view": with_database("CREATE VIEW v AS SELECT 1"),
    "a virtual table": with_database("CREATE VIRTUAL TABLE v USING rtree(id, a, b)"),
    "computed columns": with_database("CREATE TABLE v (a, b AS (hex(zeroblob(400000000))))"),
    "a deep manifest": manifest_of(b"[" * 5_000_000),
    "a crowded manifest": manifest_of(repeated(b"[],", 20_000_000, b"[", b"[]]")),
    "a manifest of numbers": manifest_of(repeated(b"7,", 30_000_000, b"[", b"7]")),
    "a manifest of 100 MB": manifest_of(repeated(b" ", 100 * MB)),
    "a manifest with NaN": manifest_of(b'{"format": "langmem-tiers-backup", "version": NaN}'),
    "a manifest with a long number": manifest_of(
        b'{"format": "langmem-tiers-backup", "version": ' + b"9" * 10_000 + b"}"
    ),
    "a manifest with doubled keys": manifest_of(b'{"format": "x", "format": "langmem-tiers-backup", "version": 1}'),
    "a pipe": piped,
    "a zip bomb of 1 GB": zip_bomb,
    "a device in a tar file": tarred(names="langmem-tiers.json", kind=tarfile.CHRTYPE),
    "a hard link in a tar file": tarred(names="langmem-tiers.json", kind=tarfile.LNKTYPE),
    "a tar file that climbs": tarred(names="../../outside.md"),
    "a tar file of 20,000 members": tarred(times=20_000),
}


# Graphs, settings and synced folders.

WHOLE = b'{"format": "langmem-tiers-graph", "version": 1, "entities": '
GRAPHS = {
    "deep": WHOLE + b"[" * 1_000_000,
    "crowded": repeated(b"[],", 20_000_000, WHOLE + b"[", b"[]]}"),
    "numbers": repeated(b"7,", 30_000_000, WHOLE + b"[", b"7]}"),
    "100 MB": repeated(b" ", 100 * MB, WHOLE, b"[]}"),
    "NaN": WHOLE + b"[NaN]}",
    "a long number": WHOLE + b"[" + b"9" * 100_000 + b"]}",
    "doubled keys": WHOLE + b'[], "entities": [7]}',
    "no UTF-8": WHOLE + b'["\xff"]}',
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a pipe": os.mkfifo,
}
SETTINGS = {
    "deep lists": b"a = " + b"[" * 100_000,
    "deep tables": b"[" + b"a." * 100_000 + b"a]",
    "a long number": b"[recall]\nlimit = " + b"9" * 100_000,
    "NaN": b"[recall]\nmin_relevance = nan\n[recall.weights]\nmatch = nan\n",
    "infinity": b"[recall.weights]\nmatch = inf\n",
    "doubled keys": b"[recall]\nlimit = 3\nlimit = 4\n",
    "100 MB": repeated(b"#", 100 * MB),
    "no UTF-8": b"a = '\xff'",
    "NUL": b"a = '\0'",
    "many tables": b"".join(b"[spaces.s%d]\n" % n for n in range(20_000)),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
}
STATES = {
    "deep": b"[" * 1_000_000,
    "crowded": repeated(b"[],", 20_000_000, b"[", b"[]]"),
    "100 MB": repeated(b" ", 100 * MB),
    "NaN": b'{"format": NaN}',
    "a pipe": os.mkfifo,
    "a link": lambda path: path.symlink_to("/dev/zero"),
}


def written(path, content):
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return path


def opened(folder):
    return Memory.open(folder / "memory", embedder=None, background=False)


def import_(folder, case):
    format, content = case
    path = content.rename(folder / "hostile")
    with opened(folder) as memory:
        user = None if format in ("mem0", "langmem-tiers") else "ann"
        memory.import_file(path, format=format, user=user)


def restore(folder, change):
    with opened(folder) as memory:
        memory.user("ann").knowledge.save("I like tea.", category="preferences")
        memory.backup(folder / "hostile")
    change(folder / "hostile")
    Memory.restore(folder / "hostile", folder / "restored")


def graph(folder, content):
    path = written(folder / "hostile.json", content)
    with opened(folder) as memory:
        memory.user("ann").graph.import_(path)


def settings(folder, content):
    (folder / "memory").mkdir()
    written(folder / "memory" / "langmem-tiers.toml", content)
    with opened(folder):
        pass


def sync(folder, content):
    with opened(folder) as memory:
        memory.user("ann").sync(folder / "synced")
        state = folder / "synced" / ".langmem-tiers" / "sync.json"
        state.unlink()
        written(state, content)
        memory.user("ann").sync(folder / "synced")


def every():
    """Each case by name: the door and what goes through it."""
    doors = (
        ("restore", restore, BACKUPS),
        ("graph", graph, GRAPHS),
        ("settings", settings, SETTINGS),
        ("sync", sync, STATES),
    )
    return {f"{door}: {name}": (use, case) for door, use, cases in doors for name, case in cases.items()}


def imported(top):
    """The files to import, made in `top` by a process that goes again, with all the memory that making them takes."""
    child = os.fork()
    if child == 0:
        from tests.test_import_bounds import CORPUS

        told = {}
        for door, cases in (("import", CORPUS), ("database", SQLITE)):
            for number, (name, (format, content)) in enumerate(cases.items()):
                told[f"{door}: {name}"] = (format, str(written(top / f"{door}{number}", content)))
        (top / "cases.json").write_text(json.dumps(told))
        os._exit(0)
    os.waitpid(child, 0)
    told = json.loads((top / "cases.json").read_text())
    return {name: (import_, (format, Path(path))) for name, (format, path) in told.items()}


def outcome(folder, use, case):
    try:
        use(folder, case)
    except MemoryTiersError as error:
        return f"{type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
        return f"FOREIGN {type(error).__name__}: {str(error)[:300]}"
    return "read"


def measured(top, name, use, case):
    """What came of a case, in a fork of this process."""
    folder = top / "case"
    folder.mkdir()
    began, told = time.monotonic(), top / "told"
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        told.write_text(outcome(folder, use, case))
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    found = {
        "name": name,
        "outcome": told.read_text() if status == 0 else f"FOREIGN end with {status}",
        "seconds": round(time.monotonic() - began, 2),
        "megabytes": used.ru_maxrss // 1024,
        "left": sorted({each.name for each in top.iterdir()} - {"case", "told"}),
        "restored": (folder / "restored").exists(),
    }
    shutil.rmtree(folder)
    told.unlink(missing_ok=True)
    return found


if __name__ == "__main__":
    from langmem_tiers.transfer import databases

    databases._PATIENCE = 3.0
    made, top = Path(sys.argv[1]) / "made", Path(sys.argv[1]) / "cases"
    made.mkdir()
    top.mkdir()
    for name, (use, case) in {**imported(made), **every()}.items():
        print(json.dumps(measured(top, name, use, case)), flush=True)
