"""Puts what the docs site is built from into build: `make docs` calls it.

build/pages has the pages. They are written to be read in the repository too, so they link to files outside of this
folder: examples, the changelog, the benchmarks. The site has a page for each of these, and the links lead there.
build/mirror has the package as a wheel would, for the reference. With `--check` it looks at the finished site instead:
opening a page may fetch nothing from elsewhere.
"""

import re
import shutil
import sys
from os.path import normpath, relpath
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
DOCS = PurePosixPath("docs")
PAGES = ROOT / "build" / "pages"
SITE = ROOT / "build" / "site"
MIRROR = ROOT / "build" / "mirror" / "langmem_tiers"
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmark-scripts.md",
    "benchmarks/figures.md": "all-figures.md",
    "examples/README.md": "examples/index.md",
}
LANGUAGES = {".py": "python", ".json": "json"}
FETCHED = re.compile(
    r'<(?:script|img|iframe|source|video)[^>]* src="?https?:[^">]*|<link[^>]* href="?https?:[^">]*|'
    r"url\(\W{0,6}https?:[^)]*|@import[^;]*https?:[^;]*"
)
LINK = re.compile(r'(\]\(|(?:src|href)=")(?![a-z]+:|#)([^)#"\s]+)')


def main() -> None:
    """Make both folders anew."""
    for folder in (PAGES, MIRROR):
        shutil.rmtree(folder, ignore_errors=True)
    put_all()
    for package in ("langmem_tiers", "graphs", "integrations"):
        mirror(ROOT / package)


def put_all() -> None:
    """Put every page where the site has it, and what they lead to."""
    written = [path for path in (ROOT / "docs").rglob("*") if path.suffix in {".md", ".css"}]
    waiting = [path.relative_to(ROOT).as_posix() for path in written]
    waiting += [name for name in ELSEWHERE if name != "README.md"]
    done: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in done:
            done.add(name)
            waiting += put(name)


def put(name: str) -> list[str]:
    """Put a file of the repository where the site has it; returns the files that it links to."""
    source, target = ROOT / name, PAGES / place(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".md":
        text, linked = redirected(name, source.read_text(encoding="utf-8"))
        target.write_text(text, encoding="utf-8")
        return linked
    if language := LANGUAGES.get(source.suffix):
        code = source.read_text(encoding="utf-8")
        target.write_text(f"# {source.name}\n\n````{language}\n{code}````\n", encoding="utf-8")
    else:
        shutil.copyfile(source, target)
    return []


def redirected(name: str, text: str) -> tuple[str, list[str]]:
    """The text with its links leading to pages of the site, and the files of the repository that they lead to."""
    linked: list[str] = []

    def there(found: re.Match[str]) -> str:
        target = PurePosixPath(normpath(PurePosixPath(name).parent / found[2])).as_posix()
        if not (ROOT / target).is_file():
            return found[0]  # the build refuses it by name
        linked.append(target)
        return found[1] + relpath(place(target), PurePosixPath(place(name)).parent)

    return LINK.sub(there, text), [each for each in linked if each != "README.md"]


def place(name: str) -> str:
    """Where the site has a file of the repository, which it is named by."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    path = PurePosixPath(name)
    inner = path.relative_to(DOCS) if path.is_relative_to(DOCS) else path
    return f"{inner}.md" if path.suffix in LANGUAGES else str(inner)


def mirror(package: Path) -> None:
    """Put the modules of a package where they are in a wheel."""
    home = MIRROR if package.name == MIRROR.name else MIRROR / package.name
    for module in package.rglob("*.py"):
        target = home / module.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        # The reference knows code in docstrings under this heading only.
        target.write_text(module.read_text(encoding="utf-8").replace("Example:\n", "Examples:\n"), encoding="utf-8")


def check() -> None:
    """End with an error if a page or a style of the site fetches something from elsewhere."""
    files = [path for path in SITE.rglob("*") if path.suffix in {".html", ".css", ".svg"}]
    found = [(path, told) for path in files for told in FETCHED.findall(path.read_text(encoding="utf-8"))]
    if found:
        sys.exit("\n".join(f"{path.relative_to(SITE)} fetches from elsewhere: {told}" for path, told in found))


if __name__ == "__main__":
    check() if "--check" in sys.argv else main()
