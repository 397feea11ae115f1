"""The colours of pictures, by what they mean: each for light and for dark surroundings. No business logic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from langmem_tiers.knowledge_graph.types import BUILT_IN_TYPES

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "ink": "#1c2430",
    "quiet": "#5d6878",
    "rule": "#d5dae1",
    "band": "#f4f6f9",
    "edge": "#3d4b5e",
    "past": "#8d97a5",
    "value": "#fffbe8",
    "value-line": "#b59a3c",
    "now": "#c62f3d",
    "kind-0": "#d6e6fb",
    "kind-0-line": "#2f6fc1",
    "kind-1": "#ffe0c7",
    "kind-1-line": "#c4610f",
    "kind-2": "#d5efd9",
    "kind-2-line": "#2c8540",
    "kind-3": "#e7dcf8",
    "kind-3-line": "#7446b8",
    "kind-4": "#f8f0bf",
    "kind-4-line": "#948009",
    "kind-5": "#fbd9e4",
    "kind-5-line": "#c03468",
    "kind-6": "#d0eff2",
    "kind-6-line": "#187f8c",
    "kind-7": "#e6e8ec",
    "kind-7-line": "#626b79",
    "kind-8": "#eadfd3",
    "kind-8-line": "#80562a",
    "kind-9": "#e3edc4",
    "kind-9-line": "#647d16",
}
DARK: Mapping[str, str] = {
    "paper": "#15181d",
    "ink": "#e8ebf0",
    "quiet": "#a3adba",
    "rule": "#383f49",
    "band": "#1d2127",
    "edge": "#b4bfcd",
    "past": "#77818f",
    "value": "#332e19",
    "value-line": "#c9b45c",
    "now": "#ff7b86",
    "kind-0": "#1c3350",
    "kind-0-line": "#6ea8ee",
    "kind-1": "#48290f",
    "kind-1-line": "#f09a55",
    "kind-2": "#173a20",
    "kind-2-line": "#69bd7c",
    "kind-3": "#33244e",
    "kind-3-line": "#b392ea",
    "kind-4": "#39330b",
    "kind-4-line": "#d0bb3c",
    "kind-5": "#4a1a2d",
    "kind-5-line": "#ee7ca5",
    "kind-6": "#0f3a40",
    "kind-6-line": "#56bfcd",
    "kind-7": "#2b3038",
    "kind-7-line": "#a1abb9",
    "kind-8": "#3a2a1a",
    "kind-8-line": "#c89a68",
    "kind-9": "#2c3511",
    "kind-9-line": "#a9c24f",
}
_OWN = ("kind-8", "kind-9")


def colours(types: Iterable[str]) -> dict[str, str]:
    """The colour of each type of entity; types of the user's own share what is left, in the order of their names."""
    named = {kind: f"kind-{place}" for place, kind in enumerate(BUILT_IN_TYPES)}
    own = sorted(set(types) - named.keys())
    return named | {kind: _OWN[place % len(_OWN)] for place, kind in enumerate(own)}
