"""What an import says of itself when it is done."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING

from langmem_tiers.cli.terminal import print_error, print_json, print_text, shortened

if TYPE_CHECKING:
    from langmem_tiers.transfer import ImportReport

_SHOWN_PROBLEMS = 20


def print_report(report: ImportReport, spaces: Collection[str], *, dry_run: bool, json: bool) -> None:
    """The counts, and what was skipped, refused or left behind; as JSON for scripts."""
    if json:
        print_json({"spaces": [*spaces], "dry_run": dry_run, **_as_fields(report)})
        return
    print_text(f"{_read(report)} into {_where(spaces)}: {'nothing was written.' if dry_run else _stored(report)}")
    if report.left_behind:
        left = ", ".join(f"{count:,} {what}" for what, count in report.left_behind.items())
        print_text(f"Left behind: {left}.")
    _print_some([f"{one.unit} {one.line}: {one.reason}" for one in report.problems], "skipped")
    _print_some([f"{one.turn.message_id}: {one.error}" for one in report.rejected], "refused")
    _print_some([f"{one.what}: {one.reason}" for one in report.refused], "refused")


def _read(report: ImportReport) -> str:
    parts = [f"{report.messages:,} messages of {report.sessions:,} sessions"] if report.messages else []
    parts += [f"{report.entries:,} entries"] if report.entries else []
    parts += [f"{report.documents:,} documents"] if report.documents else []
    return ", ".join(parts) or "Nothing"


def _stored(report: ImportReport) -> str:
    stored = report.stored + report.entries_stored + report.documents_stored
    known = report.known + report.entries_known + report.documents_known
    refused = len(report.rejected) + len(report.refused)
    return f"{stored:,} stored, {known:,} known before, {refused:,} refused."


def _where(spaces: Collection[str]) -> str:
    return next(iter(spaces)) if len(spaces) == 1 else f"{len(spaces)} spaces"


def _as_fields(report: ImportReport) -> dict[str, object]:
    return {
        "sessions": report.sessions,
        "messages": report.messages,
        "stored": report.stored,
        "known": report.known,
        "entries": {"read": report.entries, "stored": report.entries_stored, "known": report.entries_known},
        "documents": {"read": report.documents, "stored": report.documents_stored, "known": report.documents_known},
        "rejected": [{"message_id": one.turn.message_id, "error": str(one.error)} for one in report.rejected],
        "refused": [asdict(one) for one in report.refused],
        "left_behind": dict(report.left_behind),
        "problems": report.problems,
    }


def _print_some(lines: list[str], what: str) -> None:
    if lines:
        print_error(f"{len(lines):,} {what}:")
    for line in lines[:_SHOWN_PROBLEMS]:
        print_error(shortened(line, 300))
    if len(lines) > _SHOWN_PROBLEMS:
        print_error(f"… and {len(lines) - _SHOWN_PROBLEMS:,} more (--json names all).")
