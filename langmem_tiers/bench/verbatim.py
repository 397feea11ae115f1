"""Settings for measuring how messages are found: what was said, and nothing derived from it."""

from __future__ import annotations

from langmem_tiers.settings import Settings


def verbatim(settings: Settings) -> Settings:
    """The same settings, without mining, episodes and what is known: they would come or not by how long a run takes."""
    quiet = settings.mining.model_copy(update={"enabled": False})
    said = settings.recall.model_copy(update={"knowledge": 0})
    return settings.model_copy(update={"mining": quiet, "recall": said})
