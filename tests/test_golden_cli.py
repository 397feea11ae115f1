"""What every command prints about an invented history, as text and as JSON, compared with golden files."""

import json
import re
from contextlib import nullcontext

import pytest
import typer

from langmem_tiers import Memory
from langmem_tiers.cli.app import app
from langmem_tiers.cli.main import main
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests.golden_story import NOW, copied
from tests.goldens import check, plain, steady_ids
from tests.import_samples import SAMPLES

pytestmark = pytest.mark.xdist_group("golden_cli")
_VARYING = (
    re.compile(r'("(?:database_bytes|chroma_bytes|index_bytes|log_position)": )\d+'),
    re.compile(r'("version": )\d{2,}'),  # of documents: positions in the change log
    re.compile(r'("(?:timings|bytes_by_kind)": )\{[^}]*\}'),
    re.compile(r"((?:database bytes|chroma bytes|bytes of [A-Za-z ]+?|log position) +)[\d,]+ *"),
    re.compile(r"(Milliseconds: ).*"),
    re.compile(r"^()langmem-tiers: chroma_left_unclean.*\n", re.MULTILINE),  # the folder is a copy
)


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Runs a command line on a copy of the history, at a fixed time; gives what it printed, and how it left."""
    folder = copied(tmp_path / "memory")
    steady_ids(monkeypatch, 0x200000)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    clock = FrozenClock(NOW)
    kept = _KeptOpen(clock)
    monkeypatch.setattr(Memory, "open", kept.open)

    def call(*arguments, user="ottilie"):
        clock.tick(60)
        whose = ["--user", user] if user else []
        with pytest.raises(SystemExit) as left:
            main(["--path", str(folder), *whose, *map(str, arguments)])
        told = capsys.readouterr()
        out, err = (_steadied(each.replace(str(tmp_path), "FOLDER")) for each in (told.out, told.err))
        line = " ".join(map(str, arguments)).replace(str(tmp_path), "FOLDER")
        return f"$ {line}\n{out}{err}" + (f"exit {left.value.code}\n" if left.value.code else "")

    yield call
    kept.close()


class _KeptOpen:
    """Opens a memory once for many commands, with a fixed clock and embedder: opening is most of what they take."""

    def __init__(self, clock):
        self._clock, self._open, self._held = clock, Memory.open, {}

    def open(self, path=None, *, settings=None, **_options):
        """The memory, which its command cannot close."""
        if self._held.get("asked") != (path, settings):
            self.close()
            embedder = HashEmbedder()
            memory = self._open(path, settings=settings, embedder=embedder, clock=self._clock, background=False)
            self._held = {"asked": (path, settings), "memory": memory}
        return nullcontext(self._held["memory"])

    def close(self):
        """Close what is open."""
        if "memory" in self._held:
            self._held.pop("memory").close()
        self._held = {}


def _steadied(text):
    """Without what depends on the machine or on how the inside is made."""
    for pattern in _VARYING:
        text = pattern.sub(lambda found: f"{found[1]}…" if found[1] else "", text)
    return text


LOOKS = [
    "recall 'Where do I live now?'",
    "recall 'Who is Yara Castellan?' --limit 2",
    "recall 'Where does Torbjorn live?' --explain --limit 3",
    "recall 'zzz qqq xxx'",
    "palace --depth 2",
    "palace --depth 4",
    "show 3",
    "show §W-001/R-01/D-001",
    "show 4711",
    "knowledge list --limit 5",
    "knowledge list --category user-preferences --since 2025-06 --until 2025-12",
    "knowledge list --status inactive",
    "knowledge search tea",
    "knowledge categories",
    "knowledge show W-001/R-01/D-001",
    "knowledge show nothing",
    "graph",
    "graph user",
    "graph user --all-times --depth 2",
    "graph user --as-of 2025-07",
    "graph 'Yara Castellan' --mentioned",
    "graph Nobody",
    "graph user --as-of someday",
    "timeline user",
    "timeline user --known-at 2025-09-01",
    "relations between Torbjorn 'Yara Castellan' --depth 3",
    "relations changes 2025-06 2026",
    "relations history nothing",
    "entities list",
    "entities list a --type person --limit 3",
    "entities show Torbjorn",
    "entities pairs",
    "entities merges",
    "episodes list --limit 1",
    "episodes search exhibition",
    "episodes show nothing",
    "episodes delete nothing",
    "receipts show 4711",
    "activity --limit 4",
    "activity --session nothing",
    "dreams",
    "golden list",
    "directives list",
    "identity show",
    "notes list",
    "notes show nothing.md",
    "usage",
    "usage --days 7",
    "stats",
    "doctor",
]


def _split(line):
    import shlex

    return shlex.split(line)


@pytest.mark.parametrize(("name", "more"), [("text", []), ("json", ["--json"])])
def test_commands_that_only_look(run, name, more):
    printed = [run(*_split(line), *more) for line in LOOKS]
    printed.append(run("stats", *more, user=None))
    printed.append(run("stats", *more, user="nobody"))
    printed.append(run("recall", "x", *more, user=None))
    check(f"cli_looks_{name}.txt", "\n".join(map(_short, printed)))


def _short(text):
    """The beginning of what is very long; all of it is in other files."""
    return text if len(text) < 4000 else text[:4000] + f"\n… {text.count(chr(10))} lines\n"


CHANGES = [
    "knowledge add 'The user prefers sencha.' --category preferences/drinks --tag tea",
    "knowledge add 'The user prefers sencha.' --category preferences/drinks",
    "knowledge add 'Key sk-proj-Zx81kQpL0vTtY7wWmN3bR5cD9eF2gH4j'",
    "knowledge add x --category a//b",
    "knowledge edit {id} --content 'The user prefers gyokuro.' --version 1 --pin",
    "knowledge edit {id} --tag '' --version 1",
    "knowledge show {id}",
    "knowledge unmerge {id}",
    "knowledge delete {id} --yes",
    "knowledge delete {id} --yes",
    "identity add 'Speaks Norwegian.' --section Languages",
    "identity add 'Likes walks.'",
    "identity show",
    "identity remove Norwegian",
    "identity undo",
    "identity show --history",
    "notes write MEMORY.md 'The tile wall is due.'",
    "notes write MEMORY.md 'In April.' --append",
    "notes write ../up.md x",
    "notes show MEMORY.md",
    "notes list",
    "notes export out",
    "notes import out",
    "notes delete MEMORY.md",
    "relations add Ingunn 'lives in' Molde --from 2010 --object-type place",
    "relations add Ingunn 'lives in' Kristiansund --from 2024-05 --object-type place",
    "relations add Ingunn 'no longer lives in' Molde",
    "relations add kiln 'has capacity' --value 75 --unit l",
    "timeline Ingunn",
    "graph Ingunn --all-times",
    "entities add Maren --type person --alias 'Mari'",
    "entities add Maren --type person --distinct",
    "graph Maren",
    "entities add 'Yara C.' --type person",
    "entities merge 'Yara C.' 'Yara Castellan'",
    "entities merges",
    "entities unmerge 1",
    "entities pairs --apart",
    "entities allow-merge 'Yara C.' 'Yara Castellan'",
    "entities apart 'Yara C.' 'Yara Castellan'",
    "entities merges --undone",
    "entities delete 'Yara C.' --yes",
    "graph --out graph.json",
    "graph --out graph.graphml",
    "graph user --out graph.svg",
    "timeline user --out user.svg",
    "graph --out graph.xyz",
    "golden add 'Where does Torbjorn live?' --expects Bergen",
    "golden list",
    "dream --dry-run",
    "dream",
    "dreams --limit 1",
    "undo nothing",
    "golden remove 1",
    "directives init",
    "directives list",
    "rebuild",
    "doctor",
]


@pytest.mark.parametrize(("name", "more"), [("text", []), ("json", ["--json"])])
def test_commands_that_change_something(run, name, more):
    id_, printed = "a0a000200001", []
    for line in CHANGES:
        printed.append(run(*_split(line.format(id=id_)), *more))
    check(f"cli_changes_{name}.txt", "\n".join(map(_short, printed)))


def test_imports_of_every_format(run, tmp_path):
    (tmp_path / "from").mkdir()
    lines = [
        json.dumps({"session": "x", "role": "user", "content": "I keep bees.", "at": "2025-01-02T03:04:05Z"}),
        "{broken",
    ]
    (tmp_path / "talk.jsonl").write_text("\n".join(lines))
    printed = [run("import", tmp_path / "talk.jsonl", *more, user="ann") for more in (["--dry-run"], ["--json"], [])]
    for sample in SAMPLES:
        (tmp_path / "from" / sample.__name__).mkdir()
        made = sample(tmp_path / "from" / sample.__name__)
        printed.append(run("import", made, "--json", user=f"ann-{sample.__name__}"))
    printed.append(run("import", tmp_path / "missing", user="ann"))
    check("cli_imports.txt", "\n".join(printed))


def _type(parameter):
    """The type as it is written: typer has had its parameters described in more than one way."""
    if described := getattr(parameter, "type_descriptor", None):
        return re.sub(r"<class '([\w.]*\.)?(\w+)'>", r"\2", str(described.annotation))
    return parameter.type.name


def _described(command):
    about = {"help": command.help, "options": {}}
    for each in command.params:
        default = None if callable(each.default) else plain(each.default)
        about["options"][" ".join([*each.opts, *each.secondary_opts])] = {
            "type": _type(each),
            "default": default if isinstance(default, str | int | float | bool | None) else str(default),
            "required": each.required,
            "multiple": bool(getattr(each, "multiple", False)),
            "help": getattr(each, "help", None),
        }
    if hasattr(command, "commands"):
        about["commands"] = {name: _described(each) for name, each in sorted(command.commands.items())}
    return about


def test_all_commands_with_their_options():
    check("cli_commands.json", _described(typer.main.get_command(app)))
