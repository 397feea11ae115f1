"""What the memory writes is for its owner alone, and links and what others own are refused."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from langmem_tiers import Memory, Settings, Turn, private_files
from langmem_tiers.errors import ForeignFolder, LinkRefused, UnreadableSettings
from langmem_tiers.settings import StorageSettings
from langmem_tiers.testing import HashEmbedder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no modes")
needs_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")

UMASKS = (0, 0o002, 0o022, 0o077)
EVERYTHING = Settings(storage=StorageSettings(exact_below=0))
# Somebody who has nothing.
NOBODY = 65534

# In an interpreter of its own: the umask is that of a whole process. Everything that Python itself opens for writing
# must be in a folder that is private already, or be made with the mode that it keeps (`os.open` tells no mode here).
WRITE_EVERYTHING = """
import os, stat, sys
from pathlib import Path
root = Path(root_name)
os.umask(umask)
seen = []

def watch(event, told):
    if event == "open" and isinstance(told[0], str) and told[0].startswith(str(root)):
        path, mode = Path(told[0]), told[1] or ""
        above = [each for each in path.parents if each.is_relative_to(root) and each != root]
        if set(mode) & set("wxa") and not any(not stat.S_IMODE(each.stat().st_mode) & 0o077 for each in above):
            seen.append(told[0])

sys.addaudithook(watch)
from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.settings import StorageSettings
from langmem_tiers.settings_file import set_value
from langmem_tiers.testing import HashEmbedder
from langmem_tiers.models.directives import Directives
from langmem_tiers.writing import flushing

def modes(top):
    for here, folders, files in os.walk(top):
        for each in (here, *(os.path.join(here, name) for name in files)):
            mode = stat.S_IMODE(os.lstat(each).st_mode)
            if mode != (0o700 if os.path.isdir(each) else 0o600):
                print(oct(mode), each)

def opened():
    return Memory.open(root / "memory", embedder=HashEmbedder(), background=False,
                       settings=Settings(storage=StorageSettings(exact_below=0)))

with opened() as memory:
    alice = memory.user("alice")
    turns = [Turn(role="user", content=f"My sister Anna lives in Lisbon, number {n}.") for n in range(30)]
    alice.track(turns, session="monday")
    memory.flush()
    alice.knowledge.save("I prefer green tea.", category="preferences")
    alice.graph.add_relation("Anna", "lives in", "Lisbon")
    alice.documents.write("a/plan.md", "The plan.")
    alice.identity.write("I am calm.")
    alice.recall("Where does Anna live?", session="tuesday")
    memory.flush()
    modes(root / "memory")
    for name in ("b", "b.tar", "b.tar.gz", "b.zip"):
        memory.backup(root / "backups" / name)
    for name in ("e.json", "e.json.gz", "e.md", "e.graphml", "folder"):
        alice.export(root / "exports" / name)
    alice.graph.export(root / "exports" / "graph.json")
    alice.documents.export_folder(root / "documents")
    alice.sync(root / "synced")
    flushing.flush(alice.context, turns, session="friday")
    set_value(root / "memory", ("recall", "limit"), 5)
    Directives(root / "memory" / "directives").init()
    modes(root / "memory")
with opened() as memory:
    memory.user("alice").track([Turn(role="user", content="Later.")], session="wednesday")
    memory.user("alice").rebuild()
    memory.flush()
    memory.user("alice").recall("Anna", session="thursday")
    modes(root / "memory")
modes(root / "memory")
with opened() as memory:
    memory.user("bob").track([Turn(role="user", content="I am Bob.")], session="s")
    memory.delete_space("users/bob", confirm=True)
Memory.restore(root / "backups" / "b.zip", root / "restored")
for each in root.iterdir():
    modes(each)
for each in sorted(set(seen)):
    print("in a folder of others:", each)
files = [each for each in root.rglob("*") if each.is_file()]
kinds = {"bin", "graph.json", "chroma.sqlite3", "chroma.lock", "flush.lock", "backups.json", ".toml", ".md", "lock"}
print("missing:", sorted(kind for kind in kinds if not any(each.name.endswith(kind) for each in files)))
"""


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_whatever_is_written_is_for_its_owner_alone_whatever_the_umask(tmp_path, warm_python, umask):
    (tmp_path / "files").mkdir()
    script = tmp_path / "script.py"
    script.write_text(f"umask, root_name = {umask}, {str(tmp_path / 'files')!r}\n{WRITE_EVERYTHING}")
    done = warm_python.run(script)
    assert (done.returncode, done.stdout) == (0, "missing: []\n"), done.stdout + done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A memory with everything in it, made once."""
    folder = tmp_path_factory.mktemp("made") / "memory"
    fill(folder)
    return folder


@pytest.fixture
def filled(made, tmp_path):
    """A copy of it in `tmp_path / "memory"`. Returns the folder of its space."""
    shutil.copytree(made, tmp_path / "memory")
    (space,) = (tmp_path / "memory" / "spaces").iterdir()
    return space


def fill(folder):
    with Memory.open(folder, embedder=HashEmbedder(), background=False, settings=EVERYTHING) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="My sister Anna lives in Lisbon.")], session="monday")
        alice.graph.add_relation("Anna", "lives in", "Lisbon")
        memory.flush()
        alice.recall("Where does Anna live?", session="tuesday")


def opened(folder):
    return Memory.open(folder, embedder=HashEmbedder(), background=False, settings=EVERYTHING)


def use(folder):
    with opened(folder) as memory:
        memory.user("alice").recall("Anna", session="s")
        memory.flush()


def loose(folder):
    """Everything in a folder that others may read or write."""
    return [each for each in (folder, *folder.rglob("*")) if stat.S_IMODE(each.lstat().st_mode) & 0o077]


def test_a_memory_that_others_could_read_and_write_is_closed_to_them_on_opening(tmp_path, filled):
    (tmp_path / "memory" / "langmem-tiers.toml").write_text("format = 1\n")
    for each in (tmp_path / "memory", *(tmp_path / "memory").rglob("*")):
        each.chmod(0o777 if each.is_dir() else 0o666)
    use(tmp_path / "memory")
    assert loose(tmp_path / "memory") == []


def test_what_is_refused_as_a_memory_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "other.txt").write_text("x")
    with pytest.raises(OSError, match="holds other things"):
        use(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


LINKS = {
    "the spaces": "spaces",
    "a space": "spaces/{space}",
    "the database": "spaces/{space}/memory.db",
    "its write-ahead log": "spaces/{space}/memory.db-wal",
    "its shared memory": "spaces/{space}/memory.db-shm",
    "its journal": "spaces/{space}/memory.db-journal",
    "the mark of a space": "spaces/{space}/space.json",
    "the graph": "spaces/{space}/graph.json",
    "Chroma's folder": "spaces/{space}/chroma",
    "a folder in it": "spaces/{space}/chroma/1",
    "Chroma's database": "spaces/{space}/chroma/1/chroma.sqlite3",
    "Chroma's lock": "spaces/{space}/chroma.lock",
    "the lock of flushes": "spaces/{space}/flush.lock",
    "the mark of the memory": "langmem-tiers.json",
    "the list of backups": "backups.json",
    "what is being deleted": "deleted",
}


@pytest.mark.parametrize("where", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("kind", ["of the same", "into nothing", "of another file"])
def test_a_link_in_the_memory_is_refused_and_what_it_leads_to_is_left_alone(tmp_path, filled, where, kind):
    place = tmp_path / "memory" / where.format(space=filled.name)
    victim = tmp_path / "victim"
    if kind == "of the same" and place.exists():
        place.rename(victim)
    elif kind != "into nothing":
        victim.write_bytes(b"precious")
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    before = snapshot(victim)
    place.symlink_to(victim)
    with pytest.raises(LinkRefused, match="symbolic link") as told:
        use(tmp_path / "memory")
    assert (place.name in told.value.message, "Remove the link" in told.value.way_out) == (True, True)
    assert (snapshot(victim), place.is_symlink()) == (before, True)


def snapshot(path):
    files = [each for each in (path, *path.rglob("*")) if each.is_file()]
    return {str(each): (each.read_bytes(), each.stat().st_mode) for each in files}


def test_the_memory_itself_may_be_reached_by_a_link_that_is_followed_once(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with opened(tmp_path / "link") as memory:
        assert memory.path == tmp_path / "real"
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to(tmp_path / "other")
        memory.user("alice").track([Turn(role="user", content="Hello.")], session="s")
    assert ((tmp_path / "other").exists(), len(list((tmp_path / "real" / "spaces").iterdir()))) == (False, 1)
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(OSError, match="round") as told:
        use(tmp_path / "round")
    assert hasattr(told.value, "way_out")


@needs_root
@pytest.mark.parametrize("where", [".", "spaces", "spaces/{space}", "spaces/{space}/memory.db", "langmem-tiers.json"])
def test_what_belongs_to_another_user_is_refused(tmp_path, filled, where):
    before = snapshot(tmp_path / "memory")
    os.chown(tmp_path / "memory" / where.format(space=filled.name), 12345, 12345)
    with pytest.raises(ForeignFolder, match=r"another user \(uid 12345") as told:
        use(tmp_path / "memory")
    assert "chown" in told.value.way_out
    assert snapshot(tmp_path / "memory") == before


@needs_root
def test_settings_in_a_folder_of_another_user_are_not_even_read(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "langmem-tiers.toml").write_text('embedder = "openai:model"\n')
    os.chown(tmp_path / "theirs", 12345, 12345)
    with pytest.raises(ForeignFolder):
        Memory.open(tmp_path / "theirs", background=False)
    assert [each.name for each in (tmp_path / "theirs").iterdir()] == ["langmem-tiers.toml"]


@needs_root
def test_a_folder_of_the_administrator_to_which_others_write_is_refused_but_one_below_it_serves(root):
    script = f"""
import os, sys
from pathlib import Path
from langmem_tiers import Memory
from langmem_tiers.errors import ForeignFolder
volume = Path(sys.argv[1])
with Memory.open(volume.parent / "first", embedder=None, background=False) as memory:
    memory.user("ann").stats()  # what nobody may import must be imported before
os.setegid({NOBODY})
os.seteuid({NOBODY})
try:
    Memory.open(volume, embedder=None, background=False)
except ForeignFolder as error:
    print("below it" in error.way_out, list(volume.iterdir()))
with Memory.open(volume / "memory", embedder=None, background=False) as memory:
    memory.user("ann").stats()
    print(oct(memory.path.stat().st_mode), memory.path.stat().st_uid)
"""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        volume = Path(folder) / "volume"
        volume.mkdir()
        Path(folder).chmod(0o755)
        volume.chmod(0o2777)
        command = [sys.executable, "-c", script, str(volume)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root, timeout=60)
        assert done.stdout == f"True []\n0o42700 {NOBODY}\n", done.stderr


def test_exports_replace_a_link_and_not_what_it_leads_to_and_a_file_keeps_its_mode(tmp_path, alice):
    alice.graph.add_relation("Anna", "lives in", "Lisbon")
    alice.documents.write("a.md", "The plan.")
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "victim").chmod(0o644)
    (tmp_path / "out").mkdir()
    for name in ("graph.json", "a.md"):
        (tmp_path / "out" / name).symlink_to(tmp_path / "victim")
    for _ in range(2):
        alice.graph.export(tmp_path / "out" / "graph.json")
        alice.documents.export_folder(tmp_path / "out")
        assert (tmp_path / "victim").read_bytes() == b"precious"
        for name in ("graph.json", "a.md"):
            found = (tmp_path / "out" / name).lstat()
            assert (stat.S_ISREG(found.st_mode), stat.S_IMODE(found.st_mode)) == (True, 0o600)
    (tmp_path / "out" / "graph.json").chmod(0o644)
    alice.graph.export(tmp_path / "out" / "graph.json")
    assert stat.S_IMODE((tmp_path / "out" / "graph.json").stat().st_mode) == 0o644


def test_a_link_laid_in_the_place_of_an_open_graph_is_replaced(tmp_path, filled):
    with opened(tmp_path / "memory") as memory:
        alice = memory.user("alice")
        alice.graph.add_relation("Anna", "likes", "tea")
        (filled / "graph.json").unlink(missing_ok=True)
        (filled / "graph.json").symlink_to(tmp_path / "victim.json")
        (tmp_path / "victim.json").write_text("precious")
        alice.rebuild()
    assert (tmp_path / "victim.json").read_text() == "precious"
    assert not (filled / "graph.json").is_symlink()
    assert json.loads((filled / "graph.json").read_bytes())["format"] == 1


@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_settings_file_may_be_a_link_but_not_to_what_others_may_change(tmp_path, mode):
    (tmp_path / "memory").mkdir()
    (tmp_path / "managed.toml").write_text("[recall]\nlimit = 4\n")
    (tmp_path / "memory" / "langmem-tiers.toml").symlink_to(tmp_path / "managed.toml")
    (tmp_path / "managed.toml").chmod(0o644)
    with opened(tmp_path / "memory") as memory:
        assert memory.settings.recall.limit == 4
    (tmp_path / "managed.toml").chmod(mode)
    with pytest.raises(ForeignFolder, match="other users may change"):
        use(tmp_path / "memory")


def test_a_settings_file_that_is_a_pipe_or_a_folder_is_refused(tmp_path):
    for number, make in enumerate((os.mkfifo, os.mkdir)):
        (tmp_path / f"{number}").mkdir()
        make(tmp_path / f"{number}" / "langmem-tiers.toml")
        with pytest.raises(UnreadableSettings):
            use(tmp_path / f"{number}")


def test_the_doctor_names_what_others_can_read_where_modes_cannot_be_changed(tmp_path):
    with opened(tmp_path / "memory") as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="Hello.")], session="s")
        memory.flush()
        assert "files" not in {each.check for each in alice.doctor()}
        (space,) = (tmp_path / "memory" / "spaces").iterdir()
        (space / "graph.json").write_text("{}")
        (space / "graph.json").chmod(0o644)
        found = next(each for each in alice.doctor() if each.check == "files")
    assert (found.level, "graph.json" in found.message, "chmod" in found.way_out) == ("note", True, True)


def test_where_there_are_no_owners_and_modes_nothing_breaks(tmp_path, monkeypatch):
    monkeypatch.setattr(private_files, "_HAS_OWNERS", False)
    fill(tmp_path / "memory")
    use(tmp_path / "memory")


def test_there_are_enough_links():
    assert len(LINKS) >= 15
