"""The built-in prompts, and a memory's own replacements for them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ValidationError

from langmem_tiers import private_files
from langmem_tiers.errors import InvalidDirective
from langmem_tiers.models.calls import Prompt
from langmem_tiers.storage.folder import own_folder

LONGEST = 20_000
"""Characters of the longest prompt that is taken."""

# With the line that announces it, which would make no sense without it.
_EXAMPLE = re.compile(r"^(?:[^\n]*:[ \t]*\n)?```json[ \t]*\n(?P<body>(?:(?!```)[^\n]*\n)*+)```[ \t]*$\n?", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Directive:
    """A prompt by its name: where a replacement is read from, and whether there is one."""

    name: str
    title: str
    path: Path | None
    overridden: bool


class Directives:
    """Prompt texts by name: `<name>.md` in a folder where there is one, else the built-in.

    The folder is that of `Settings.directives`, relative to the memory folder. Files are read on every use, so that an
    edit takes effect immediately.

    Example:
        >>> Directives(None).text("memory-rules").splitlines()[0]
        '# What to remember'
    """

    def __init__(self, memory: Path | None, folder: str = "directives") -> None:
        self._folder = None if memory is None else own_folder(memory, folder)

    def text(self, name: str) -> str:
        """The prompt with a name.

        Raises:
            InvalidDirective: the replacement is unreadable, empty, too long or not UTF-8 text.
        """
        override = self._override(name)
        if override is None or not _there(override):
            return built_in(name)
        return _read(override).strip()

    def prompt(self, name: str, schema: type[BaseModel], user: str) -> Prompt:
        """The question from a prompt and `user`; its last ```json block is the example of a reply.

        Raises:
            InvalidDirective: as for `text`; or the example is not JSON, or does not fit the schema.
        """
        text = self.text(name)
        found = list(_EXAMPLE.finditer(text))
        if not found:
            return Prompt(system=text, user=user)
        example = self._example(name, schema, found[-1]["body"])
        system = text[: found[-1].start()] + text[found[-1].end() :]
        return Prompt(system=system.strip(), user=user, example=example)

    def all(self) -> tuple[Directive, ...]:
        """Every prompt, by name."""
        return tuple(self._described(name) for name in names())

    def init(self) -> tuple[Directive, ...]:
        """Write the built-in prompts to files for editing, without touching existing ones. Returns what was written.

        Raises:
            OSError: the folder cannot be written.
        """
        written = [each for each in self.all() if each.path is not None and not each.overridden]
        for each in written:
            assert each.path is not None
            private_files.make_folder(each.path.parent)
            with private_files.create(each.path) as file:
                file.write(f"{built_in(each.name)}\n".encode())
        return tuple(self._described(each.name) for each in written)

    def _described(self, name: str) -> Directive:
        path = self._override(name)
        title = built_in(name).partition("\n")[0].lstrip("# ")
        return Directive(name=name, title=title, path=path, overridden=path is not None and _there(path))

    def _override(self, name: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{name}.md"

    def _example(self, name: str, schema: type[BaseModel], body: str) -> BaseModel:
        known = {field.alias or each for each, field in schema.model_fields.items()}
        try:
            example = json.loads(body)
            if not isinstance(example, dict):
                raise self._unfit(name, body, 1, "does not fit: it is no object")
            unknown = next((each for each in example if each not in known), None)
            if unknown is not None or not example:
                wanted = ", ".join(sorted(known))
                raise self._unfit(name, body, 1, f"does not fit: it has {unknown!r}, and what is asked for is {wanted}")
            return schema.model_validate(example)
        except json.JSONDecodeError as error:
            raise self._unfit(name, body, error.lineno, f"is no JSON: {error.msg}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "it"
            raise self._unfit(name, body, 1, f"does not fit: {where}: {first['msg']}") from error

    def _unfit(self, name: str, body: str, line: int, what: str) -> InvalidDirective:
        """The error about a line of the example."""
        file = self._override(name) or Path(f"{name}.md")
        raw = _read(file) if _there(file) else built_in(name)
        return _invalid(file, f"has an example that {what}", _line(raw, raw.rfind(body)) + line - 1)


def names() -> tuple[str, ...]:
    """The names of the built-in prompts."""
    found = (each.name for each in (files("langmem_tiers.models") / "prompts").iterdir())
    return tuple(sorted(name.removesuffix(".md") for name in found if name.endswith(".md")))


def built_in(name: str) -> str:
    """The built-in prompt with a name."""
    return (files("langmem_tiers.models") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _there(file: Path) -> bool:
    """Whether something of that name exists, even a broken link: that is a mistake worth reporting."""
    try:
        return file.is_symlink() or file.exists()
    except OSError as error:
        raise _invalid(file, f"cannot be read ({error.strerror or error})") from error


def _read(file: Path) -> str:
    """The text of a file, unchanged."""
    if file.exists() and not file.is_file():
        raise _invalid(file, "is no file")  # opening a pipe would block for ever
    try:
        with file.open("rb") as opened:
            data = opened.read(4 * LONGEST + 4)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        # The limit may cut the last character, but then the file is too long anyway.
        text = data[: error.start].decode("utf-8-sig")
        if len(text) <= LONGEST:
            raise _invalid(file, "is no UTF-8 text", data.count(b"\n", 0, error.start) + 1) from error
    except OSError as error:
        raise _invalid(file, f"cannot be read ({error.strerror or error})") from error
    if len(text) > LONGEST:
        raise _invalid(file, f"has more than {LONGEST:,} characters", _line(text, LONGEST))
    if not text.strip():
        raise _invalid(file, "is empty")
    if "\x00" in text:
        raise _invalid(file, "is no text", _line(text, text.index("\x00")))
    return text


def _line(text: str, place: int) -> int:
    """The line number of a position."""
    return text.count("\n", 0, max(place, 0)) + 1


def _invalid(file: Path, what: str, line: int | None = None) -> InvalidDirective:
    where = "" if line is None else f", line {line},"
    return InvalidDirective(f"The prompt {file}{where} {what}.")
