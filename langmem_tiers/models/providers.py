"""Models and embedders by name, `provider:model`: which package and which extra each provider needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from langmem_tiers.errors import InvalidSettings, MemoryTiersError, MissingExtra

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

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
# How LangChain and its packages name what is missing.
_PACKAGE = re.compile(r"pip install (?:-\S+ )*['\"]?([\w-]+)|\b(langchain-[\w-]+)")
# How providers name where their key or address is looked for.
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_OF_A_PROVIDER = "See what its provider needs, such as a key or an address, or name another one."
_LONGEST = 300
_SUCH_AS = {"model": "gpt-5-mini", "embedder": "text-embedding-3-small"}


def init_by_name(name: str, make: Callable[[str], Made], *, kind: str, usual: tuple[str, ...]) -> Made:
    """LangChain's object for a name.

    Args:
        name: Such as "openai:gpt-5-mini".
        make: Creates it, including any imports.
        kind: What it is, "model" or "embedder".
        usual: Providers to suggest if this one is unknown.

    Raises:
        MissingExtra: a package is not installed.
        InvalidSettings: the provider is unknown, or its client rejects the name, for example without a key.
    """
    provider, colon, model = name.partition(":")
    if not provider.strip() or (colon and not model.strip()):
        lacking = f"says no {kind} after its provider" if provider.strip() else "says no provider"
        what = f"The name {name!r} of the {kind} {lacking}." if name.strip() else f"The name of the {kind} is empty."
        raise InvalidSettings(what, way_out=f"Name it as provider:name, such as openai:{_SUCH_AS[kind]}.")
    try:
        return make(name)
    except MemoryTiersError:
        raise
    except ImportError as error:
        raise _missing(error, provider, kind) from error
    except Exception as error:  # whatever a provider's client is missing: a key, an address
        raise _refused(name, error, kind, usual) from error


def _missing(error: ImportError, provider: str, kind: str) -> MemoryTiersError:
    if (error.name or str(error)).partition(".")[0] == "langchain":
        return MissingExtra("langchain", EXTRAS.get(provider, "openai"))
    found = _PACKAGE.search(str(error))
    package = (found[1] or found[2]) if found else (error.name or "").partition(".")[0].replace("_", "-")
    if not package:
        what = f"The {kind} of {provider!r} cannot be used: {_in_a_line(error)}"
        return InvalidSettings(what, way_out="Install what it is missing.")
    return MissingExtra(package, _BY_PACKAGE.get(package))


def _in_a_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}"


def _refused(name: str, error: Exception, kind: str, usual: tuple[str, ...]) -> InvalidSettings:
    said = str(error)
    unknown = isinstance(error, ValueError) and ("provider" in said or "empty" in said)
    if not unknown:
        variables = " or ".join(dict.fromkeys(_VARIABLE.findall(said)))
        way_out = f"Set the environment variable {variables}." if variables else _OF_A_PROVIDER
        return InvalidSettings(f"The {kind} {name!r} cannot be used: {_in_a_line(error)}", way_out=way_out)
    known = ", ".join(f"{each} (pip install 'langmem-tiers[{EXTRAS[each]}]')" for each in usual)
    return InvalidSettings(
        f"The {kind} {name!r} cannot be used: no provider is known for it.",
        way_out=f"Name it as provider:model. Known are {known}, and all others of LangChain's, with their packages.",
    )


_CHAT = ("openai", "anthropic", "ollama", "google_genai")


def chat_model(name: str) -> BaseChatModel:
    """The chat model for a name; nothing is called yet.

    Raises:
        MissingExtra: `langchain` or the provider's package is not installed.
        InvalidSettings: the provider is unknown, or its client rejects the name, for example without a key.
    """

    def make(name: str) -> BaseChatModel:
        from langchain.chat_models import init_chat_model

        found: BaseChatModel = init_chat_model(name)
        return found

    return init_by_name(name, make, kind="model", usual=_CHAT)


_USUAL = ("openai", "ollama", "google_genai")
# Texts arrive in pieces that any model accepts. Splitting them again would need OpenAI's tables from the network, and
# would send numbers in place of text, which most other servers do not understand.
_OPTIONS: dict[str, dict[str, Any]] = {
    "openai": {"check_embedding_ctx_length": False},
    "azure_openai": {"check_embedding_ctx_length": False},
}


def init_embedder(name: str) -> Embeddings:
    """The embeddings for a name; nothing is called or downloaded yet.

    Raises:
        MissingExtra: `langchain` or the provider's package is not installed.
        InvalidSettings: the provider is unknown, or its client rejects the name, for example without a key.
    """

    def make(name: str) -> Embeddings:
        from langchain.embeddings import init_embeddings

        found: Any = init_embeddings(name, **_OPTIONS.get(name.partition(":")[0], {}))
        return found  # type: ignore[no-any-return]

    return init_by_name(name, make, kind="embedder", usual=_USUAL)
