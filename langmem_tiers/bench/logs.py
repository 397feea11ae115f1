"""Logs of a benchmark: a JSON object about a question on each line, so that an interrupted run can be taken up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from langmem_tiers.errors import InvalidInput, UnreadableFile
from langmem_tiers.storage.errors_border import translated

Fields = Mapping[str, object]


class AnswerLog:
    """The lines of a log by question id; of several about one question, the last counts.

    An incomplete last line, which an interruption left, is removed. `<name>.run.json` beside the log records how it was
    made: continuing with other settings would mix two measurements in one file. `way_out` says what to do then.

    Raises:
        InvalidInput: the log was begun with other settings.
        UnreadableFile: a line of it is no answer.
    """

    def __init__(
        self, path: Path, run: Fields, *, way_out: str = "Name another --out file, or delete this one."
    ) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.lines: dict[str, Fields] = {}
        if path.exists():
            cut_partial_line(path)
            self.lines = {str(line["question_id"]): line for line in read_lines(path)}
        beside = path.with_name(f"{path.name}.run.json")
        told = json.dumps(run, indent=2, sort_keys=True) + "\n"
        if self.lines and beside.exists() and beside.read_text(encoding="utf-8") != told:
            raise InvalidInput(
                f"{path} was begun with another dataset or other settings ({beside.name} says which).", way_out=way_out
            )
        beside.write_text(told, encoding="utf-8")

    @property
    def answered(self) -> frozenset[str]:
        """The ids of the questions that have a line so far."""
        return frozenset(self.lines)

    def append(self, line: Fields) -> None:
        """Write one line, and hand it to the operating system."""
        with translated(self._path), self._path.open("a", encoding="utf-8") as stream:
            stream.write(_written(line))
        self.lines[str(line["question_id"])] = line

    def put_in_order(self, question_ids: Iterable[str]) -> None:
        """Rewrite the log with one line per question, in this order; lines of other questions come last."""
        order = dict.fromkeys((*question_ids, *self.lines))
        temporary = self._path.with_suffix(".part")
        with translated(self._path):
            temporary.write_text(
                "".join(_written(self.lines[name]) for name in order if name in self.lines), encoding="utf-8"
            )
            temporary.replace(self._path)


def _written(line: Fields) -> str:
    return json.dumps(line) + "\n"  # in ASCII: models send lone surrogates


def read_lines(path: Path) -> Iterator[Fields]:
    """The lines of a log as mappings that hold a question id.

    Raises:
        UnreadableFile: the log cannot be opened, or a line is no answer.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                parsed = None
                with suppress(json.JSONDecodeError):
                    parsed = json.loads(line)
                if not isinstance(parsed, dict) or not isinstance(parsed.get("question_id"), str):
                    raise no_answer(path, number)
                yield parsed
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(
            f"{path} cannot be read as a log of answers: {getattr(error, 'strerror', None) or error}.",
            way_out="Name a file that `langmem-tiers bench` wrote.",
        ) from error


def no_answer(path: Path, number: int) -> UnreadableFile:
    """The error for a line that does not belong into a log of retrieval."""
    return UnreadableFile(
        f"Line {number} of {path} is no answer of a retrieval run.",
        way_out="Name a file that `langmem-tiers bench retrieval` wrote.",
    )


def cut_partial_line(path: Path) -> None:
    """Remove an incomplete last line, which an interruption left."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as stream:
            stream.truncate(whole)
