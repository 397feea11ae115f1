"""Finding a chat model by its name."""

from langchain_core.language_models import BaseChatModel

from langmem_tiers import providers
from langmem_tiers.errors import InvalidInput

_USUAL = ("openai", "anthropic", "ollama", "google_genai")


def chat_model(model: str | BaseChatModel) -> BaseChatModel:
    """`model` itself, or the one a name such as "openai:gpt-5-mini" stands for in LangChain's `init_chat_model`.

    Raises:
        InvalidInput: it is neither a name nor a chat model.
        MissingExtra: the package `langchain`, which knows the names, or the provider's own one is not installed.
        InvalidSettings: nobody is known to provide it, or the provider's client refuses it, such as without a key.
    """
    if not isinstance(model, str):
        return _checked(model)
    return providers.made(model, _chat_model, kind="model", usual=_USUAL)


def _checked(model: BaseChatModel) -> BaseChatModel:
    # By what it can do: a model with options bound to it is none by its class. A class has the method too.
    if isinstance(model, type) or not callable(getattr(model, "invoke", None)):
        raise InvalidInput(
            f"{model!r} is no chat model.",
            way_out="Give a name such as 'openai:gpt-5-mini', or a LangChain chat model.",
        )
    return model


def _chat_model(name: str) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    found: BaseChatModel = init_chat_model(name)
    return found
