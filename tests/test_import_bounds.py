"""Files that would fill the memory or the disk, or lead elsewhere: refused by name or listed, whatever the format."""

import gzip
import json
import os
import struct
import time
import zipfile
import zlib

import pytest

from langmem_tiers import Memory, Settings
from langmem_tiers.errors import InvalidInput, MemoryTiersError, UnreadableFile
from langmem_tiers.settings import ImportSettings

LINE = {"session": "s", "role": "user", "content": "My cat is called Mug.", "id": "1"}


def lines(*entries):
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in entries).encode()


def nested(levels, opened="[", closed="]"):
    return opened * levels + "1" + closed * levels


def zipped(name, data, *, times=1):
    def write(path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            for number in range(times):
                made.writestr(name if times == 1 else f"{number}/{name}", data)

    return write


def overlapping(path):
    """A zip file whose members share their bytes."""
    zipped("conversations.json", b"[]" + b" " * 100_000, times=1)(path)
    data = path.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    first = data.index(b"PK\x01\x02")
    entry, count = data[first:end], 2000
    tail = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(entry) * count, first, 0)
    path.write_bytes(data[:first] + entry * count + tail)


def link(path):
    path.mkdir()
    (path / "a.json").symlink_to("/etc/passwd")
    (path / "b").symlink_to("/")


def tree(**files):
    def write(path):
        path.mkdir()
        for name, data in files.items():
            (path / f"{name}.json").write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())

    return write


ENTRY = {"id": "abc123def456", "content": "Likes tea.", "createdAt": "2026-01-01T00:00:00Z"}
MEM0 = {"id": "m", "memory": "Likes tea", "user_id": "ann", "hash": "h"}
WHOLE = b'{"format": "langmem-tiers", "version": 1, "schema": 1, "space": "users/a", "records": '

CORPUS = {
    # JSON lines
    "deep line": ("jsonl", lines(LINE, '{"session": ' + nested(500) + "}")),
    "very deep line": ("jsonl", lines(LINE, nested(200_000))),
    "deep objects": ("jsonl", lines(LINE, nested(5_000, '{"a":', "}"))),
    "NaN": ("jsonl", lines(LINE, '{"session": NaN}')),
    "Infinity": ("jsonl", lines(LINE, '{"session": -Infinity}')),
    "an endless number": ("jsonl", lines(LINE, '{"session": 1e999}')),
    "an integer of 10,000 digits": ("jsonl", lines(LINE, '{"session": ' + "9" * 10_000 + "}")),
    "a lone surrogate": ("jsonl", lines(LINE, '{"session": "s", "role": "user", "content": "\\ud800"}')),
    "a surrogate in an id": ("jsonl", lines(LINE, '{"session": "\\ud800", "role": "user", "content": "x"}')),
    "NUL": ("jsonl", lines(LINE, '{"session": "s", "role": "user", "content": "a\\u0000b"}')),
    "no UTF-8": ("jsonl", lines(LINE) + b'{"session": "\xff"}\n'),
    "duplicate ids": ("jsonl", lines(LINE, {**LINE, "content": "Another text."}, LINE)),
    "a line without end": ("jsonl", lines(LINE) + b'{"session": "' + b"x" * 17_000_000),
    "a long session": ("jsonl", lines(LINE, {**LINE, "session": "x" * 100_000, "id": "2"})),
    "paths as sessions": ("jsonl", lines(LINE, {**LINE, "session": "../../etc/passwd", "id": "2"})),
    "a role of the system": ("jsonl", lines(LINE, {**LINE, "role": "system"})),
    "a date beyond time": ("jsonl", lines(LINE, {**LINE, "at": "99999-01-01T00:00:00Z"})),
    # Lists
    "a deep list": ("mem0", ("[" + json.dumps(MEM0) + "," + nested(5_000) + "]").encode()),
    "a list that never ends": ("mem0", ("[" + json.dumps(MEM0) + "," * 3).encode()),
    "an endless number in a list": ("mem0", ("[" + json.dumps(MEM0)[:-1] + ', "score": 1e999}]').encode()),
    "duplicate facts": ("mem0", json.dumps([MEM0, MEM0, {**MEM0, "memory": "Likes coffee"}]).encode()),
    "a path as user": ("mem0", json.dumps([MEM0, {**MEM0, "user_id": "../../etc"}]).encode()),
    "a NUL as user": ("mem0", json.dumps([MEM0, {**MEM0, "user_id": "a\0b"}]).encode()),
    "a metadata bomb": ("mem0", json.dumps([{**MEM0, "metadata": {str(n): "x" * 900 for n in range(5_000)}}]).encode()),
    # Archives
    "a gzip bomb": ("jsonl", gzip.compress(b" " * (200 << 20))),
    "a gzip bomb in a gzip bomb": ("jsonl", gzip.compress(gzip.compress(b"\0" * (50 << 20)))),
    "a cut gzip file": ("jsonl", gzip.compress(lines(LINE) * 1000)[:-20]),
    "a zip bomb": ("chatgpt", zipped("conversations.json", b"[" + b" " * (200 << 20) + b"]")),
    "many bombs": ("chatgpt", zipped("conversations.json", b"[]" + b" " * (5 << 20), times=20)),
    "overlapping members": ("chatgpt", overlapping),
    "an absolute name": ("chatgpt", zipped("/conversations.json", b"[]")),
    "a name that leads up": ("chatgpt", zipped("../../conversations.json", b"[]")),
    "a drive letter": ("chatgpt", zipped("C:\\conversations.json", b"[]")),
    "a long name": ("chatgpt", zipped("x" * 60_000 + "/conversations.json", b"[]")),
    "a zip file that is none": ("chatgpt", b"PK\x03\x04" + b"\0" * 500),
    "a text as zip": ("claude", zlib.compress(b"[]")),
    # Folders
    "links": ("rockbot", link),
    "duplicate entries": ("rockbot", tree(a=ENTRY, b={**ENTRY, "content": "Likes coffee."}, c=ENTRY)),
    "ids that are paths": ("rockbot", tree(a={**ENTRY, "id": "../../etc/passwd"}, b={**ENTRY, "id": "a\0b"})),
    "categories that are paths": (
        "rockbot",
        tree(a={**ENTRY, "category": "../../etc"}, b={**ENTRY, "category": "/etc"}),
    ),
    "a deep entry": ("rockbot", tree(a=b'{"id": ' + nested(5_000).encode() + b"}", b=ENTRY)),
    "a large entry": ("rockbot", tree(a=b'{"id": "' + b"x" * 5_000_000 + b'"}', b=ENTRY)),
    "an entry that is a list": ("rockbot", tree(a=[ENTRY], b=ENTRY)),
    # Whole spaces
    "records that never end": ("langmem-tiers", WHOLE + b'{"drawers": [' + b'{"number": 1},' * 1000),
    "records that are a list": ("langmem-tiers", WHOLE + b"[]}"),
    "a deep whole": ("langmem-tiers", WHOLE + b'{"drawers": [' + nested(5_000).encode() + b"]}}"),
    "twice the same table": ("langmem-tiers", WHOLE + b'{"drawers": [], "drawers": []}}'),
    "something behind it": ("langmem-tiers", WHOLE + b'{}, "counts": {}} {"more": 1}'),
    "a foreign format": ("langmem-tiers", b'{"format": "another", "version": 1, "records": {}}'),
    "a header without end": ("langmem-tiers", b'{"format": "langmem-tiers", "a": "' + b"x" * (1 << 20)),
    "nothing": ("langmem-tiers", b""),
    "binary": ("langmem-tiers", bytes(range(256)) * 100),
}


def written(path, content):
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize(("format", "content"), CORPUS.values(), ids=CORPUS)
def test_a_hostile_file_is_refused_by_name_or_its_problems_are_listed(tmp_path, memory, format, content):
    path = written(tmp_path / "hostile", content)
    started = time.process_time()
    user = None if format in ("mem0", "langmem-tiers") else "ann"
    refused = None
    try:
        memory.import_file(path, format=format, user=user)
    except MemoryTiersError as error:
        refused = error
    assert refused is None or (isinstance(refused, UnreadableFile | InvalidInput) and len(str(refused)) < 2_000)
    assert time.process_time() - started < 60
    memory.flush()
    for name in memory.spaces():
        assert {each.level for each in memory.space(name).doctor()} <= {"ok", "note"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["hostile", "memory"]


def test_there_are_enough_of_them():
    assert len(CORPUS) >= 40


LIMITS = {
    "max_bytes": (1000, "jsonl", lines(*({**LINE, "id": str(n)} for n in range(100)))),
    "max_records": (2, "jsonl", lines(*({**LINE, "session": str(n)} for n in range(10)))),
    "max_unpacked_bytes": (1000, "chatgpt", zipped("conversations.json", b"[" + b" " * 5000 + b"]")),
    "max_files": (3, "rockbot", tree(**{f"e{n}": {**ENTRY, "id": str(n)} for n in range(5)})),
}


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_is_a_setting(tmp_path, name):
    value, format, content = LIMITS[name]
    path = written(tmp_path / "file", content)
    settings = Settings(imports=ImportSettings(**{name: value}))
    with (
        Memory.open(tmp_path / "memory", embedder=None, background=False, settings=settings) as memory,
        pytest.raises(UnreadableFile, match="more than"),
    ):
        memory.import_file(path, format=format, user="ann")


def test_without_tight_limits_the_same_files_are_read(tmp_path):
    for name, (_, format, content) in LIMITS.items():
        with Memory.open(tmp_path / name, embedder=None, background=False) as memory:
            memory.import_file(written(tmp_path / f"{name}.file", content), format=format, user="ann")


def test_a_pipe_is_refused(tmp_path, memory):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFile, match="no regular file"):
        memory.import_file(tmp_path / "pipe", format="langmem-tiers")
    with pytest.raises(UnreadableFile, match="no regular file"):
        memory.import_file(tmp_path / "pipe", format="jsonl", user="ann")


@pytest.mark.parametrize("format", ["rockbot", None])
def test_a_pipe_in_a_folder_is_refused_by_name(tmp_path, memory, format):
    folder = tmp_path / "entries"
    folder.mkdir()
    os.mkfifo(folder / "a.json")
    with pytest.raises(UnreadableFile, match=r"'a\.json' is no regular file"):
        memory.import_file(folder, format=format, user="ann")
