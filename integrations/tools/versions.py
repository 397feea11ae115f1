"""The versions that a model was shown in its conversation: what it changes, it changes from these."""

from collections.abc import Iterable
from typing import Literal

from langchain_core.messages import ToolMessage

from langmem_tiers.integrations.tools.base import Call
from langmem_tiers.records import Entry

Shown = Literal["versions", "notes", "task_versions"]
"""Where artifacts hold versions: those of entries by id, of notes by path, of tasks by id."""


def versions(entries: Iterable[Entry]) -> dict[str, int]:
    """The versions of entries that a model was shown, for the artifact."""
    return {entry.id: entry.version for entry in entries}


def version_seen(call: Call, shown: Shown, name: str) -> int | None:
    """The version of something that a tool showed last in this conversation; None if none did."""
    artifacts = (message.artifact for message in reversed(call.messages) if isinstance(message, ToolMessage))
    held = (artifact.get(shown) for artifact in artifacts if isinstance(artifact, dict))
    seen = (some[name] for some in held if isinstance(some, dict) and name in some)
    return next((version for version in seen if isinstance(version, int)), None)
