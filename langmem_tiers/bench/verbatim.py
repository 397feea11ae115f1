"""Settings for measuring how messages are found: what was said, and nothing derived from it."""

from __future__ import annotations

from langmem_tiers.settings import Settings


def verbatim(settings: Settings) -> Settings:
    """The same settings, without mining, episodes, graph, dreams and what is known.

    They would come or not by how long a run takes.
    """
    quiet = {
        name: getattr(settings, name).model_copy(update={"enabled": False}) for name in ("mining", "graph", "dream")
    }
    said = settings.recall.model_copy(update={"knowledge": 0})
    return settings.model_copy(update={**quiet, "recall": said})
