"""Bringing in conversations and memories from files: the readers, and the import that stores what they read."""

from langmem_tiers.transfer.backups import BackupReport, KnownBackup, SpaceLeftOut
from langmem_tiers.transfer.exporting import EXPORTS, ExportFormat, ExportReport
from langmem_tiers.transfer.formats import FORMATS, guess_format, read_conversations, read_records
from langmem_tiers.transfer.importing import (
    ImportReport,
    Refusal,
    RejectedMessage,
    Track,
    import_conversations,
    import_records,
    survey,
)
from langmem_tiers.transfer.records import (
    Entry,
    ImportedDocument,
    ImportedFact,
    ImportedMessage,
    ImportedSession,
    LeftBehind,
    LineProblem,
    Record,
)
from langmem_tiers.transfer.restoring import RestoreReport
from langmem_tiers.types import Format

__all__ = [
    "EXPORTS",
    "FORMATS",
    "BackupReport",
    "Entry",
    "ExportFormat",
    "ExportReport",
    "Format",
    "ImportReport",
    "ImportedDocument",
    "ImportedFact",
    "ImportedMessage",
    "ImportedSession",
    "KnownBackup",
    "LeftBehind",
    "LineProblem",
    "Record",
    "Refusal",
    "RejectedMessage",
    "RestoreReport",
    "SpaceLeftOut",
    "Track",
    "guess_format",
    "import_conversations",
    "import_records",
    "read_conversations",
    "read_records",
    "survey",
]
