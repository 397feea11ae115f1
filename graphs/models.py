"""Finding a chat model by its name."""

from langchain_core.language_models import BaseChatModel

from langmem_tiers.errors import MissingExtra


def chat_model(model: str | BaseChatModel) -> BaseChatModel:
    """`model` itself, or the one a name such as "openai:gpt-5-mini" stands for in LangChain's `init_chat_model`.

    Raises:
        MissingExtra: the package `langchain`, which knows the names, is not installed.
        ImportError: the provider's own package is not installed; the message names it.
        ValueError: no provider is known by this name.
    """
    if not isinstance(model, str):
        return model
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise MissingExtra("langchain", "openai") from error
    found: BaseChatModel = init_chat_model(model)
    return found
