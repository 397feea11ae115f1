"""Every code block of the README and the docs runs as it stands, in an empty folder."""

import ast
import builtins
import importlib
import inspect
import io
import json
import re
import shlex
import tokenize
from pathlib import Path

import pytest

from langmem_tiers.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [
    *PAGES,
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *ROOT.glob("*/README.md"),
    *ROOT.glob("benchmarks/*.md"),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
SETUP = "langmem-tiers --path memory --user alice import conversation.jsonl --format jsonl"
CONVERSATION = [
    {"session": "sunday", "role": "user", "content": "My sister Lena moved to Porto.", "at": "2026-03-01T18:00:00Z"},
    {"session": "sunday", "role": "assistant", "content": "How does she like it?", "at": "2026-03-01T18:00:05Z"},
]


def _blocks(*languages, pages=PAGES):
    for page in pages:
        text = page.read_text()
        for found in BLOCK.finditer(text):
            if found.group(1) in languages:
                line = text.count("\n", 0, found.start()) + 1
                yield pytest.param(found.group(2), id=f"{page.relative_to(ROOT)}:{line}")


def _python(page):
    return [block.values[0] for block in _blocks("python", pages=[page])]


@pytest.fixture
def output(tmp_path, warm_python):
    """Runs a block in an empty folder, which stays for the next one; what it prints."""

    def run(code):
        (tmp_path / "block.py").write_text(code)
        done = warm_python.run(tmp_path / "block.py")
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.mark.parametrize("code", [*_blocks("python")])
def test_python_runs(code, output):
    output(code)


GRAPH = ROOT / "docs" / "graph.md"
SEVERAL = [page for page in PAGES if page != GRAPH and len(_python(page)) > 1]


@pytest.mark.parametrize("page", SEVERAL, ids=lambda page: page.name)
def test_a_page_can_be_worked_through_from_top_to_bottom(page, output):
    for code in _python(page):
        output(code)


def test_so_can_that_of_the_graph_and_it_prints_what_its_comments_say(output):
    told = [each for code in _python(GRAPH) for each in _told(code, output)]
    assert [(comment, line) for comment, line in told if not _says(comment, line)] == []
    assert told


# On one line, so that those of the block stand where they stood, but one further down.
MARKING = (
    "import builtins, sys; "
    "print = lambda *told: builtins.print(f'<{sys._getframe(1).f_lineno - 1}>', *told)  # noqa: E731\n"
)


def _told(code, output):
    """The comment behind each call of `print` that has one, with what the call printed."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    comments = {token.start[0]: token.string.removeprefix("# ") for token in tokens if token.type == tokenize.COMMENT}
    calls = {call.lineno: call.end_lineno for call in ast.walk(ast.parse(code)) if isinstance(call, ast.Call)}
    for place, line in re.findall(r"^<(\d+)> (.*)$", output(MARKING + code), re.M):
        if comment := comments.get(calls[int(place)]):
            yield comment, line


def _says(comment, line):
    return comment.startswith(line) or comment.endswith(f": {line}")


@pytest.mark.parametrize("code", [*_blocks("py")])
def test_python_that_needs_a_server_names_nothing_unknown(code):
    tree = compile(code, "block", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    known = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    for statement in imported:
        module = importlib.import_module(statement.module)
        assert [each.name for each in statement.names if not hasattr(module, each.name)] == []
        known |= {each.asname or each.name for each in statement.names}
    assert {name.id for name in names if isinstance(name.ctx, ast.Load)} - known - set(dir(builtins)) == set()


def test_no_python_hides_in_a_block_of_another_language():
    languages = {found.group(1) for page in PAGES for found in BLOCK.finditer(page.read_text())} - {"python", "py"}
    others = list(_blocks(*languages))
    assert [block.id for block in others if re.search(r"^(from \S+ )?import \S+", block.values[0], re.M)] == []


def _block_with(words):
    return next(block.values[0] for block in _blocks("python") if words in block.values[0])


def test_the_quick_start_shows_its_block_every_time(output):
    shown = [output(_block_with("today = ")) for _ in range(2)]
    assert [block for block in shown if "Lena moved to Porto" not in block] == []


def test_a_state_of_your_own_really_recalls(output):
    assert "“My brother Nils plays the cello.”" in output(_block_with("MyState"))


def _command_blocks():
    return [block for block in _blocks("sh") if "langmem-tiers" in block.values[0]]


@pytest.mark.parametrize("block", _command_blocks())
def test_commands_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("conversation.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in CONVERSATION))
    for line in (SETUP, *block.splitlines()):
        monkeypatch.setattr("sys.stdin", io.StringIO("Where does my sister Lena live?\n"))
        assert _exit_code(shlex.split(line, comments=True)) == 0


def _exit_code(command):
    assert command[0] == "langmem-tiers"
    with pytest.raises(SystemExit) as left:
        main(command[1:])
    return left.value.code or 0


def test_links_lead_somewhere():
    links = [(page, *link) for page in LINKED for link in LINK.findall(_prose(page))]
    broken = [f"{page.name}: {target}{anchor}" for page, target, anchor in links if not _leads(page, target, anchor)]
    assert broken == []
    assert len(links) > 200


LINK = re.compile(r'(?:\]\(|(?:src|href)=")(?![a-z]+:)([^)#"\s]*)(#[^)"\s]+)?')


def _prose(page):
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.M | re.S)


def _leads(page, target, anchor):
    there = page.parent / target if target else page
    return there.exists() and (not anchor or anchor[1:] in _anchors(there))


def _anchors(page):
    """The anchors of a page's headings, as repositories make them."""
    headings = re.findall(r"^#+ (.+)$", _prose(page), re.M)
    words = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", each).strip().replace(" ", "-") for each in words}


def test_every_page_has_its_place_on_the_site():
    placed = re.findall(r'"([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text())
    assert sorted(placed) == sorted(set(placed))
    written = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]}
    assert written - set(placed) == set()


@pytest.mark.parametrize("package", ["", ".graphs", ".integrations", ".testing"])
def test_everything_public_is_in_the_reference(package):
    module = importlib.import_module(f"langmem_tiers{package}")
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    listed = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)", pages, re.M)}
    public = {name: getattr(module, name) for name in getattr(module, "__all__", dir(module)) if name[0] != "_"}
    made = {name for name, value in public.items() if inspect.isclass(value) or inspect.isfunction(value)}
    assert {name for name in made if public[name].__module__.startswith(module.__name__)} - listed == set()


def test_nothing_on_the_site_is_fetched_from_elsewhere():
    pictures = [*(ROOT / "docs").rglob("*.svg"), *(ROOT / "docs").rglob("*.css")]
    assert [each.name for each in pictures if re.search(r"url\([\"']?http|@import|href=\"http", each.read_text())] == []
    assert re.search(r"^font = false$", (ROOT / "zensical.toml").read_text(), re.M)
