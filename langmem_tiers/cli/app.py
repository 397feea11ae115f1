"""The command line as a whole: the options before the command, and the groups of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from langmem_tiers.cli import (
    activity,
    backups,
    bench,
    browse,
    chat,
    completion,
    config,
    directives,
    dream,
    entities,
    episodes,
    exports,
    forget,
    graph,
    imports,
    knowledge,
    maintenance,
    mcp,
    mine,
    move,
    panel,
    profile,
    recall,
    receipts,
    relations,
    show,
    signals,
    sync,
    tasks,
    why,
    worker,
    working,
)
from langmem_tiers.cli.target import DEFAULT_EMBEDDER, Target
from langmem_tiers.cli.terminal import show_warnings
from langmem_tiers.errors import InvalidInput
from langmem_tiers.paths import is_address, require_folder
from langmem_tiers.wording import safe

# The base of every error of wrong usage, whichever version of typer it comes from.
_WrongUsage: Any = typer.BadParameter.__mro__[1]


class _SafeGroup(TyperGroup):
    """Commands whose errors of wrong usage repeat what was given without what a terminal would obey."""

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        """Read the options before the command."""
        with _safe_usage():
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: Any) -> Any:
        """Read the command with its options, and run it."""
        with _safe_usage():
            return super().invoke(ctx)


@contextmanager
def _safe_usage() -> Iterator[None]:
    try:
        yield
    except _WrongUsage as error:
        error.message = safe(error.message)
        raise


app = typer.Typer(
    name="langmem-tiers",
    cls=_SafeGroup,
    help="Long-term memory for LangGraph and LangChain agents: look at it, ask it, import into it, check it.",
    epilog="Begin with: langmem-tiers --user alice chat. Then: langmem-tiers --user alice recall 'Where do I live?'",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from langmem_tiers.version import __version__

        typer.echo(f"langmem-tiers {__version__}")
        raise typer.Exit


def _place(text: str) -> Path | str:
    if not text.strip():
        raise typer.BadParameter("the path is empty; '.' is the folder you are in.")
    try:
        require_folder(text)
    except InvalidInput as error:
        raise typer.BadParameter(str(error)) from None
    return text if is_address(text) else Path(text)


@app.callback()
def options(
    context: typer.Context,
    *,
    path: Annotated[
        Path | None,
        typer.Option(
            envvar="LANGMEM_TIERS_PATH",
            metavar="FOLDER",
            parser=_place,
            help="The memory, or its database: postgresql://…, several with commas. Default: in your data folder.",
        ),
    ] = None,
    chroma: Annotated[
        str | None,
        typer.Option(metavar="URL", help="With a database, the Chroma server of its vectors, several with commas."),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            envvar="LANGMEM_TIERS_USER",
            metavar="ID",
            autocompletion=completion.users,
            help="Whose memory: any user id.",
        ),
    ] = None,
    fallback: Annotated[
        list[str] | None,
        typer.Option(metavar="SPACE", help="Another space to read as well, such as global; several times."),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(
            envvar="LANGMEM_TIERS_EMBEDDER",
            metavar="NAME",
            help="minilm, none, or a name such as openai:text-embedding-3-small. Default: what the settings name.",
        ),
    ] = DEFAULT_EMBEDDER,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Take the options that come before every command."""
    show_warnings()
    read_also = tuple(fallback or ()) or None
    context.obj = Target(path=path, chroma=chroma, user=user, json=json, embedder=embedder, fallbacks=read_also)


_COMMANDS: dict[str, Callable[..., None]] = {
    "chat": chat.chat,
    "import": imports.import_file,
    "mine": mine.mine,
    "recall": recall.recall,
    "why": why.why,
    "profile": profile.profile,
    "palace": recall.palace,
    "report": tasks.report,
    "show": show.show,
    "browse": browse.browse,
    "edit": show.edit,
    "graph": graph.graph,
    "timeline": graph.timeline,
    "activity": activity.activity,
    "dream": dream.dream,
    "dreams": dream.dreams,
    "undo": dream.undo,
    "redo": dream.redo,
    "stats": maintenance.stats,
    "usage": maintenance.usage,
    "sync": sync.sync,
    "mcp": mcp.mcp,
    "panel": panel.panel,
    "worker": worker.worker,
    "forget": forget.forget,
    "doctor": maintenance.doctor,
    "rebuild": maintenance.rebuild,
    "export": exports.export,
    "backup": backups.backup,
    "restore": backups.restore,
    "move": move.move,
}
_GROUPS = {
    "knowledge": knowledge.knowledge,
    "episodes": episodes.episodes,
    "receipts": receipts.receipts,
    "relations": relations.relations,
    "entities": entities.entities,
    "golden": dream.golden,
    "config": config.config,
    "directives": directives.directives,
    "identity": profile.identity,
    "notes": profile.notes,
    "tasks": tasks.tasks,
    "working": working.working,
    "signals": signals.signals,
    "bench": bench.bench,
}
# The headings of the list of commands, with those below each; the others are for upkeep.
_HEADINGS = {
    "Talk, and bring in": "chat import mine mcp",
    "Look and ask": "recall why show panel browse palace profile report graph timeline activity",
    "What is kept": (
        "knowledge identity notes forget episodes entities relations tasks working signals receipts edit sync"
    ),
    "Dreams": "dream dreams undo redo golden",
}
_HEADING_OF = {name: heading for heading, names in _HEADINGS.items() for name in names.split()}
for _name, _function in _COMMANDS.items():
    app.command(_name, rich_help_panel=_HEADING_OF.get(_name, "Upkeep"))(_function)
for _name, _group in _GROUPS.items():
    app.add_typer(_group, name=_name, rich_help_panel=_HEADING_OF.get(_name, "Upkeep"))
