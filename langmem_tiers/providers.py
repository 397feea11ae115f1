"""Models by their names, `provider:model`: which package and which extra each provider needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from langmem_tiers.errors import InvalidSettings, MemoryTiersError, MissingExtra

Made = TypeVar("Made")

EXTRAS = {
    "openai": "openai",
    "azure_openai": "openai",
    "anthropic": "anthropic",
    "ollama": "ollama",
    "google_genai": "google",
}
"""The extra that brings each provider's package."""
_BY_PACKAGE = {
    "langchain-openai": "openai",
    "langchain-anthropic": "anthropic",
    "langchain-ollama": "ollama",
    "langchain-google-genai": "google",
}
# As LangChain names it when it is missing.
_PACKAGE = re.compile(r"langchain-[\w-]+")
_LONGEST = 300


def made(name: str, make: Callable[[str], Made], *, kind: str, usual: tuple[str, ...]) -> Made:
    """What LangChain makes of a name.

    Args:
        name: Such as "openai:gpt-5-mini".
        make: Makes it; imports what that takes.
        kind: What it is, for errors.
        usual: Providers to name where this one is not known.

    Raises:
        MissingExtra: a package is not installed.
        ImportError: it is one that no extra of this package brings; the message names it.
        InvalidSettings: nobody is known to provide it, or the provider's client refuses it, such as without a key.
    """
    provider = name.partition(":")[0]
    try:
        return make(name)
    except MemoryTiersError:
        raise
    except ImportError as error:
        raise _missing(error, provider) from error
    except Exception as error:  # whatever a provider's client finds missing: a key, an address
        raise _refused(name, error, kind, usual) from error


def _missing(error: ImportError, provider: str) -> ImportError:
    found = _PACKAGE.search(str(error))
    if found and found[0] in _BY_PACKAGE:
        return MissingExtra(found[0], _BY_PACKAGE[found[0]])
    if (error.name or str(error)).partition(".")[0] == "langchain":
        return MissingExtra("langchain", EXTRAS.get(provider, "openai"))
    return error


def _refused(name: str, error: Exception, kind: str, usual: tuple[str, ...]) -> InvalidSettings:
    said = str(error)
    unknown = isinstance(error, ValueError) and ("provider" in said or "empty" in said)
    if not unknown:
        line = " ".join(said.split())[:_LONGEST]
        return InvalidSettings(f"The {kind} {name!r} can not be used: {type(error).__name__}: {line}")
    known = ", ".join(f"{each} (pip install 'langmem-tiers[{EXTRAS[each]}]')" for each in usual)
    return InvalidSettings(
        f"Nobody is known to provide the {kind} {name!r}.",
        way_out=f"Name it as provider:model. Known are {known}, and all others of LangChain's, with their packages.",
    )
