"""`langmem-tiers chat`: talk to an agent that remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from langmem_tiers.cli.target import target_of
from langmem_tiers.cli.terminal import OutputFailed, print_error, print_text, shortened
from langmem_tiers.errors import MemoryTiersError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.memory import Memory

RerankOption = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="A chat model that picks the best of what is found, such as openai:gpt-5-mini."),
]


def chat(
    context: typer.Context,
    *,
    model: Annotated[
        str | None,
        typer.Option(envvar="LANGMEM_TIERS_MODEL", help="A model as init_chat_model names it: openai:gpt-5-mini."),
    ] = None,
    session: Annotated[str | None, typer.Option(help="The session to continue. Default: a new one.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print each block that was recalled.")] = False,
    rerank: RerankOption = None,
) -> None:
    """Talk to an agent that remembers; Ctrl-D ends it."""
    target = target_of(context)
    # Whatever may be refused is looked at before a folder is made.
    target.space_name()
    chosen, reranker = chat_model(model), reranking_model(rerank)
    with target.memory(reranker=reranker) as memory:
        thread = session or f"chat-{uuid4().hex[:8]}"
        print_text(f"Session {thread} of {target.user}, memory in {memory.path}. Ctrl-D ends it.")
        _converse(chosen, memory, user=str(target.user), thread=thread, show=show)
        print_text("")


def chat_model(name: str | None) -> BaseChatModel:
    """The model with this name, or the offline responder; a name that cannot be used ends the command."""
    from langmem_tiers.integrations import OfflineResponder, model_or_offline

    try:
        model = model_or_offline(name)
    except (MemoryTiersError, ImportError) as error:
        print_error(f"The model {name!r} cannot be used: {shortened(str(error), 600)}")
        raise typer.Exit(1) from error
    if isinstance(model, OfflineResponder):
        print_text("No --model given: what answers is no model, it quotes what was recalled.")
    return model


def reranking_model(name: str | None) -> BaseChatModel | None:
    """The model given with `--rerank`, if there is one."""
    return chat_model(name) if name else None


def _converse(model: BaseChatModel, memory: Memory, *, user: str, thread: str, show: bool) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    from langmem_tiers.graphs import chat as chat_by_line
    from langmem_tiers.graphs import memory_agent

    agent = memory_agent(model, memory, checkpointer=InMemorySaver())
    try:
        chat_by_line(agent, user_id=user, thread_id=thread, show=show, write=print_text)
    except (MemoryTiersError, OutputFailed):
        raise
    except Exception as error:  # whatever a provider's client raises: a wrong key, no network, a model retired
        raise model_error(error) from error


def model_error(error: Exception) -> typer.Exit:
    """Print a provider's error in one line: its traceback says no more. What was said before is remembered."""
    print_error(f"The model failed: {type(error).__name__}: {error}")
    return typer.Exit(1)
