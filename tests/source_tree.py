"""The modules of the library and what each imports, read from their syntax trees."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
_ROOMS = {
    "langmem_tiers": "langmem_tiers",
    "graphs": "langmem_tiers.graphs",
    "integrations": "langmem_tiers.integrations",
}


def library() -> dict[str, Path]:
    """Path of every module by its import name."""
    return {
        _module_name(package, path.relative_to(ROOT / folder)): path
        for folder, package in _ROOMS.items()
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def _module_name(package: str, path: Path) -> str:
    parts = [part for part in path.with_suffix("").parts if part != "__init__"]
    return ".".join([package, *parts])


def imports_at_start(path: Path) -> set[str]:
    """Every name imported when the module is: not inside functions, not for type checkers only."""
    return {name for node in _run_at_import(ast.parse(path.read_text()).body) for name in _names(node)}


def imports_anywhere(path: Path) -> set[str]:
    """Every name that the file imports, wherever."""
    return {name for node in ast.walk(ast.parse(path.read_text())) for name in _names(node)}


def _run_at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _run_at_import(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            yield from _run_at_import([child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)])


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_within(name: str, package: str) -> bool:
    """Whether a dotted name is a package or something in it."""
    return name == package or name.startswith(f"{package}.")


def owner(name: str, modules: dict[str, Path]) -> str | None:
    """The library's module that an imported name lives in."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None
