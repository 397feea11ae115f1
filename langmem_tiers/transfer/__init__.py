"""Bringing conversations in from files: the readers, and the import that replays what they read."""

from langmem_tiers.transfer.formats import FORMATS, Format, guess_format, read_conversations
from langmem_tiers.transfer.importing import ImportReport, Track, import_conversations
from langmem_tiers.transfer.records import Entry, ImportedMessage, ImportedSession, LineProblem

__all__ = [
    "FORMATS",
    "Entry",
    "Format",
    "ImportReport",
    "ImportedMessage",
    "ImportedSession",
    "LineProblem",
    "Track",
    "guess_format",
    "import_conversations",
    "read_conversations",
]
