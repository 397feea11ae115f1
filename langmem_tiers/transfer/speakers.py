"""Who said an imported message: the user, or somebody else by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge_graph.graph import KnowledgeGraph
from langmem_tiers.language.slugs import name_key
from langmem_tiers.naming import user_of
from langmem_tiers.transfer.records import ImportedMessage, ImportedSession, Record
from langmem_tiers.types import Origin
from langmem_tiers.wording import beginning

_USER = "user"
_NAMED = 10


class Speakers:
    """Tells the user of a space from other people whose messages a file brings in.

    A speaker is the user if `user_speaker` names them; without it, if their name is the id of the space's user, or a
    name that the memory knows the user by. Other speakers are themselves, wherever the file tells them by name or
    several people speak.
    """

    def __init__(self, context: Callable[[str], SpaceContext] | None, user_speaker: str | None = None) -> None:
        self._context = context
        self._user_speaker = user_speaker
        self._names: dict[str, frozenset[str]] = {}
        self.said: Counter[str] = Counter()
        """How many messages each named speaker said."""
        self.users: dict[str, None] = {}
        """The speakers who were taken for the user."""

    def origins(self, session: ImportedSession, space: str) -> list[Origin | None]:
        """For each message, "import" if somebody else than the user said it, None where its role says whose it is."""
        own = self._names_of_user(space)
        named = {key for each in session.messages if each.role == "user" and (key := _key(each))}
        people = len(named) > 1 or self._user_speaker is not None
        return [self._origin(each, own, people=people) for each in session.messages]

    def users_name(self, session: ImportedSession, space: str) -> str | None:
        """The name under which the user speaks in a session, if other people have names there as well."""
        own = self._names_of_user(space)
        for each in session.messages:
            if each.role == "user" and (each.by_name or self._user_speaker) and _key(each) in own:
                return each.speaker
        return None

    def _origin(self, message: ImportedMessage, own: frozenset[str], *, people: bool) -> Origin | None:
        if message.role != "user" or not message.speaker:
            return None
        self.said[message.speaker] += 1
        if _key(message) in own:
            self.users[message.speaker] = None
            return None
        return "import" if message.by_name or people else None

    def _names_of_user(self, space: str) -> frozenset[str]:
        if self._user_speaker is not None:
            return frozenset({name_key(self._user_speaker)})
        if space not in self._names:
            self._names[space] = frozenset(map(name_key, (user_of(space) or "", *self._known_names(space)))) - {""}
        return self._names[space]

    def _known_names(self, space: str) -> tuple[str, ...]:
        """The names that the graph knows the user by; none if there is no such space yet."""
        if self._context is None:
            return ()
        context = self._context(space)
        if not context.exists():
            return ()
        user = KnowledgeGraph(context).entity(_USER)
        return () if user is None else user.aliases


def require_speaker(records: Iterable[Record], name: str) -> None:
    """Check that somebody of this name speaks in a file, before anything of it is stored.

    Raises:
        InvalidInput: nobody does; it names those who do.
    """
    said = Counter(
        each.speaker
        for record in records
        if isinstance(record, ImportedSession)
        for each in record.messages
        if each.role == "user" and each.speaker
    )
    if name_key(name) not in map(name_key, said):
        most = ", ".join(speaker for speaker, _ in said.most_common(_NAMED))
        raise InvalidInput(
            f"Nobody called {beginning(name, 40)!r} speaks in it.",
            way_out=f"Those who do are {most}." if said else "It names no speakers: leave --user-speaker out.",
        )


def introduce(context: SpaceContext, name: str) -> None:
    """Have the graph know the user by a name, so that what others say of them is said of the user."""
    graph = KnowledgeGraph(context)
    known = graph.entity(_USER)
    if known is None or name not in known.aliases:
        graph.add_entity(_USER, type="person", aliases=(name,), origin="import")


def _key(message: ImportedMessage) -> str:
    return name_key(message.speaker or "")
