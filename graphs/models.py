"""Finding a chat model by its name."""

from langchain_core.language_models import BaseChatModel

from langmem_tiers import providers

_USUAL = ("openai", "anthropic", "ollama", "google_genai")


def chat_model(model: str | BaseChatModel) -> BaseChatModel:
    """`model` itself, or the one a name such as "openai:gpt-5-mini" stands for in LangChain's `init_chat_model`.

    Raises:
        MissingExtra: the package `langchain`, which knows the names, or the provider's own one is not installed.
        ImportError: the provider's package is none that an extra of this package brings; the message names it.
        InvalidSettings: nobody is known to provide it, or the provider's client refuses it, such as without a key.
    """
    if not isinstance(model, str):
        return model
    return providers.made(model, _chat_model, kind="model", usual=_USUAL)


def _chat_model(name: str) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    found: BaseChatModel = init_chat_model(name)
    return found
