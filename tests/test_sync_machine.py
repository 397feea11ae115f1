"""Random edits on both sides of a synced folder: nothing is lost, both come to say the same, then nothing is done."""

import re
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from langmem_tiers import Memory
from langmem_tiers.sync.front_matter import parse
from langmem_tiers.testing import FrozenClock

TOKEN = re.compile(r"token\d+")
CATEGORIES = st.sampled_from(["home", "work", "work/habits", "con"])
PLACES = st.integers(min_value=0, max_value=50)
NOTES = st.sampled_from(["MEMORY.md", "memory/a.md", "b.txt"])


class BothSides(RuleBasedStateMachine):
    """A memory and a folder, edited at random and synced now and then."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="sync-"))
        self.clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
        self.memory = Memory.open(self.place / "memory", embedder=None, background=False, clock=self.clock)
        self.space = self.memory.user("alice")
        self.folder = self.place / "folder"
        self.count = 0
        self.fresh = {"memory": set(), "folder": set()}
        self.space.sync(self.folder)

    def teardown(self):
        self.memory.close()
        shutil.rmtree(self.place)

    def text(self, side):
        self.count += 1
        self.clock.tick(60)
        token = f"token{self.count}"
        self.fresh[side].add(token)
        return f"The user keeps number {self.count} of {token}."

    # In the memory.

    @rule(category=CATEGORIES)
    def save(self, category):
        self.space.knowledge.save(self.text("memory"), category=category, tags=["a"], origin="user")

    def entry(self, place):
        found = sorted(self.space.knowledge.search(limit=100), key=lambda each: each.entry.number)
        return found[place % len(found)].entry if found else None

    @rule(place=PLACES, what=st.sampled_from(["content", "category", "tags", "remove", "delete"]), category=CATEGORIES)
    def change(self, place, what, category):
        if (entry := self.entry(place)) is None:
            return
        knowledge = self.space.knowledge
        if what == "remove":
            knowledge.deactivate(entry.id, origin="user")
        elif what == "delete":
            knowledge.delete(entry.id)
        else:
            value = {"content": lambda: self.text("memory"), "category": lambda: category, "tags": lambda: [category]}
            knowledge.update(entry.id, **{what: value[what]()}, origin="user")

    @rule(path=NOTES, gone=st.booleans())
    def write_note(self, path, gone):
        if gone:
            self.space.documents.delete(path)
        else:
            self.space.documents.write(path, self.text("memory"))

    @rule(gone=st.booleans())
    def write_identity(self, gone):
        self.space.identity.write("" if gone else self.text("memory"))

    # In the folder.

    def below(self, category):
        folder = self.folder / "knowledge" / category.replace("con", "con~")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @rule(category=CATEGORIES)
    def new_file(self, category):
        said = self.text("folder")
        file = self.below(category) / f"mine{self.count}.md"
        file.write_text(said)

    @rule(
        place=PLACES,
        what=st.sampled_from(["body", "category", "tags", "move", "delete", "lines", "aside", "rest", "bare"]),
        category=CATEGORIES,
    )
    def edit_file(self, place, what, category):
        files = sorted((self.folder / "knowledge").rglob("*.md"))
        if not files:
            return
        file = files[place % len(files)]
        text = file.read_text()
        if what == "delete":
            file.unlink()
        elif what == "move":
            file.rename(self.below(category) / f"moved-{file.name}"[-80:])
        elif what == "lines":
            file.write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
        elif what == "bare":
            file.write_text(self.text("folder"))
        else:
            said = {
                "body": lambda: re.sub(r"The user keeps .*", self.text("folder"), text),
                "category": lambda: re.sub(r"(?m)^category: .*$", f"category: {category}", text),
                "tags": lambda: re.sub(r"(?m)^tags: .*$", f"tags: [b, {category}]", text),
                "aside": lambda: re.sub(r"(?m)^status: .*$", "status: inactive", text),
                "rest": lambda: re.sub(r"(?m)^version: .*$", "version: 99", text),
            }
            file.write_text(said[what]())

    @rule(path=NOTES, gone=st.booleans())
    def edit_note(self, path, gone):
        file = self.folder / "notes" / path
        if gone:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text("folder"))

    @rule(gone=st.booleans())
    def edit_identity(self, gone):
        if gone:
            (self.folder / "identity.md").unlink(missing_ok=True)
        else:
            (self.folder / "identity.md").write_text(f"{self.text('folder')}\n")

    @precondition(lambda self: (self.folder / "conflicts").exists())
    @rule(place=PLACES)
    def resolve(self, place):
        copies = sorted(each for each in (self.folder / "conflicts").rglob("*") if each.is_file())
        if copies:
            copy = copies[place % len(copies)]
            # Who deletes the copy has decided against it.
            self.fresh["memory"] -= set(TOKEN.findall(copy.read_text()))
            copy.unlink()

    # Both.

    def held(self):
        """What the memory holds now, and what it keeps of earlier versions."""
        every = [each.entry.content for each in self.space.knowledge.search(status="all", limit=1000)]
        notes = [self.space.documents.read(each.path).content for each in self.space.documents.list()]
        identity = [each.text for each in self.space.identity.history(limit=1000)]
        return set(TOKEN.findall(" ".join([*every, *notes, *identity])))

    def current(self):
        active = [each.entry.content for each in self.space.knowledge.search(limit=1000)]
        notes = [self.space.documents.read(each.path).content for each in self.space.documents.list()]
        return set(TOKEN.findall(" ".join([*active, *notes, self.space.identity.read().text])))

    def files(self):
        return {
            each.relative_to(self.folder).as_posix(): each.read_bytes()
            for each in self.folder.rglob("*")
            if each.is_file() and ".langmem-tiers" not in each.parts
        }

    def written(self):
        return set(TOKEN.findall(" ".join(data.decode() for data in self.files().values())))

    @rule()
    def look(self):
        files, held = self.files(), self.held()
        report = self.space.sync(self.folder, dry_run=True)
        assert report.dry_run
        assert (self.files(), self.held()) == (files, held)

    @rule()
    def sync(self):
        must = (self.fresh["memory"] & self.current()) | (self.fresh["folder"] & self.written())
        report = self.space.sync(self.folder)
        assert must <= self.held() | self.written()
        assert [each.reason for each in report.problems] == []
        for side in ("memory", "folder"):
            self.fresh[side] &= set(TOKEN.findall(" ".join(getattr(each, side) or "" for each in report.conflicts)))
        self.idle(report)

    @rule(prefer=st.sampled_from(["memory", "folder"]))
    def settle(self, prefer):
        must = self.fresh[prefer] & (self.current() if prefer == "memory" else self.written())
        report = self.space.sync(self.folder, prefer=prefer, confirm_deletions=True)
        assert must <= self.held() | self.written()
        assert report.settled, report
        self.fresh = {"memory": set(), "folder": set()}
        self.idle(report)
        self.in_step()

    def idle(self, first):
        """Another sync does nothing."""
        files = self.files()
        again = self.space.sync(self.folder)
        assert (again.to_memory, again.to_folder) == ((), ())
        assert [each.path for each in again.conflicts] == [each.path for each in first.conflicts]
        assert [each.path for each in again.waiting] == [each.path for each in first.waiting]
        assert self.files() == files

    def in_step(self):
        """Both sides say the same, and nothing else is there."""
        files = self.files()
        said = {parse(data.decode()).id: data for path, data in files.items() if path.startswith("knowledge/")}
        entries = {each.entry.id: each.entry for each in self.space.knowledge.search(limit=1000)}
        assert said.keys() == entries.keys()
        for entry in entries.values():
            file = parse(said[entry.id].decode())
            told = (file.body, file.category, file.tags, file.pinned)
            assert told == (entry.content, entry.category, entry.tags, entry.pinned)
        notes = {each.path: self.space.documents.read(each.path).data for each in self.space.documents.list()}
        assert {p.removeprefix("notes/"): data for p, data in files.items() if p.startswith("notes/")} == notes
        assert files.get("identity.md", b"\n").decode() == f"{self.space.identity.read().text}\n"
        assert not [path for path in files if path.startswith("conflicts/")]


TestBothSides = BothSides.TestCase
TestBothSides.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
