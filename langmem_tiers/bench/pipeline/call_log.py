"""A log of model calls: one line a question, where a later line replaces the earlier one, put in order at the end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from langmem_tiers.bench.log import AnswerLog, read_lines
from langmem_tiers.storage.errors_border import translated

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CallLine:
    """One line, as it is written."""

    fields: Fields

    def as_line(self) -> str:
        """The line of the log, in ASCII: models send lone surrogates."""
        return json.dumps(dict(self.fields), ensure_ascii=True) + "\n"


class CallLog:
    """The lines by question id.

    Raises:
        InvalidInput: the log was begun in another way.
        UnreadableFile: a line of it is none.
    """

    def __init__(self, path: Path, described: Fields, *, way_out: str) -> None:
        self.path = path
        self._log = AnswerLog(path, described, way_out=way_out)
        self.lines: dict[str, Fields] = read_calls(path) if path.exists() else {}

    def append(self, fields: Fields) -> None:
        """Write one line; it replaces an earlier one of its question."""
        with translated(self.path):
            self._log.append(CallLine(fields))
        self.lines[str(fields["question_id"])] = fields

    def put_in_order(self, question_ids: Iterable[str]) -> None:
        """Write the log anew: one line a question, in this order; lines of other questions come last."""
        order = [*dict.fromkeys((*question_ids, *self.lines))]
        kept = [CallLine(self.lines[name]).as_line() for name in order if name in self.lines]
        temporary = self.path.with_suffix(".part")
        with translated(self.path):
            temporary.write_text("".join(kept), encoding="utf-8")
            temporary.replace(self.path)


def read_calls(path: Path) -> dict[str, Fields]:
    """The last line of each question.

    Raises:
        UnreadableFile: the log can not be opened, or a line is none.
    """
    return {str(line["question_id"]): line for line in read_lines(path)}
