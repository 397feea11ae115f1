"""The identity of a space: reading it, and changing it by its sections and lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import IdentityFull, InvalidInput, TextChanged
from langmem_tiers.identity import characters, sections
from langmem_tiers.identity.rendering import render
from langmem_tiers.identity.types import IdentityText, IdentityVersion
from langmem_tiers.storage import identities
from langmem_tiers.twins import twin
from langmem_tiers.types import Origin
from langmem_tiers.writing.storable import known_origin, storable

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.space import Space

DEFAULT_SECTION = "Notes"


class Identity:
    r"""The user's core profile: Markdown in "## Section" blocks, always before the model, and small for that reason.

    `Settings.identity.max_characters` is a hard limit, counted as users see characters. A change that has no room is
    refused with the text that stands and the overflow. Every change is kept as a version until `forget_history`; one
    that changes nothing makes none. Each method has a twin named `a…` that does the same in a thread.

    Where `version` is given, the change is made only if that version stands (0: nothing was ever written). Methods that
    change a part read and write in one transaction: without `version`, none of them loses what another one wrote.

    Example:
        >>> identity.add("Speaks German and Portuguese.", section="Languages").text
        '## Languages\n- Speaks German and Portuguese.'
    """

    def __init__(self, space: Space) -> None:
        self._space = space

    def __repr__(self) -> str:
        return f"Identity({self._space.name!r})"

    def read(self) -> IdentityText:
        """The identity as it stands, and how much of its room it takes."""
        with self._space.memory.use(self._space.name) as store, store.reading() as connection:
            return self._shown(identities.newest(connection, store.key))

    def prompt_block(self) -> str:
        """The identity for a system prompt, fenced and escaped, with its usage; empty where there is none."""
        return render(self.read())

    def write(self, text: str, *, version: int | None = None, origin: Origin = "user") -> IdentityText:
        """Put `text` in the place of the whole identity; an empty one empties it.

        Raises:
            IdentityFull: it is too long; nothing was changed.
            TextChanged: another version than `version` stands.
            SecretRefused: it holds a secret, and `Settings.privacy.derived` refuses these.
        """
        new = self._clean(arguments.any_text(text, "text"))
        return self._change(lambda _: new, version=version, origin=origin)

    def add(
        self, line: str, *, section: str = DEFAULT_SECTION, version: int | None = None, origin: Origin = "user"
    ) -> IdentityText:
        """Add a line to a section as a list item; the section is made if it is new. A line it has stays as it is.

        Raises:
            InvalidText: the line or the section's name is blank.
            IdentityFull, TextChanged, SecretRefused: as for `write`.
        """
        title, new = self._clean_section(arguments.any_text(section, "section"), arguments.any_text(line, "line"))
        return self._change(lambda held: sections.with_line(held, new, title), version=version, origin=origin)

    def replace(self, section: str, text: str, *, version: int | None = None, origin: Origin = "user") -> IdentityText:
        """Put `text` in the place of all that is in a section, making it if it is new; an empty text removes it.

        Raises:
            InvalidText: the section's name is blank, or the text holds the heading of another section.
            IdentityFull, TextChanged, SecretRefused: as for `write`.
        """
        title, new = self._clean_section(arguments.any_text(section, "section"), arguments.any_text(text, "text"))
        return self._change(lambda held: sections.with_section(held, title, new), version=version, origin=origin)

    def remove(self, what: str, *, version: int | None = None, origin: Origin = "user") -> IdentityText:
        """Take out a section, named by its title, or a line, named by itself or by words that no other line holds.

        Raises:
            InvalidText: there is no such section or line, or there are several such lines.
            TextChanged: another version than `version` stands.
        """
        gone = arguments.text(what, "what")
        return self._change(lambda held: sections.without(held, gone), version=version, origin=origin)

    def history(self, *, limit: int = 20) -> tuple[IdentityVersion, ...]:
        """The last versions, newest first.

        Raises:
            InvalidInput: `limit` is below 1.
        """
        most = arguments.whole(limit, "limit", least=1)
        with self._space.memory.use(self._space.name) as store, store.reading() as connection:
            return tuple(identities.latest(connection, store.key, most))

    def undo(self, *, to: int | None = None, origin: Origin = "user") -> IdentityText:
        """Let the version before the one that stands, or the version `to`, stand again, as a new version.

        Undoing twice takes the undoing back.

        Raises:
            InvalidInput: there is no such version (any more).
            IdentityFull: the limit was lowered since.
        """
        wanted, by = arguments.optional_whole(to, "to"), known_origin(origin)
        with self._space.memory.use(self._space.name) as store, store.writing() as connection:
            held = identities.newest(connection, store.key)
            text = _earlier(connection, store.key, held, wanted)
            return self._put(connection, store.key, held, text, by)

    def forget_history(self) -> int:
        """Delete all versions but the one that stands; how many there were. They can not be undone to any more."""
        with self._space.memory.use(self._space.name) as store, store.writing() as connection:
            held = identities.newest(connection, store.key)
            return 0 if held is None else identities.forget_before(connection, store.key, held.version)

    aread = twin(read)
    aprompt_block = twin(prompt_block)
    awrite = twin(write)
    aadd = twin(add)
    areplace = twin(replace)
    aremove = twin(remove)
    ahistory = twin(history)
    aundo = twin(undo)
    aforget_history = twin(forget_history)

    def _change(self, edit: Callable[[str], str], *, version: int | None, origin: Origin) -> IdentityText:
        read, known = arguments.optional_whole(version, "version", least=0), known_origin(origin)
        with self._space.memory.use(self._space.name) as store, store.writing() as connection:
            held = identities.newest(connection, store.key)
            _require(read, held)
            new = sections.normalised(edit("" if held is None else held.text))
            return self._put(connection, store.key, held, new, known)

    def _put(
        self, connection: Connection, space: str, held: IdentityVersion | None, text: str, origin: Origin
    ) -> IdentityText:
        """Let a text stand, if there is room for it and it differs from the one that does."""
        if text == ("" if held is None else held.text):
            return self._shown(held)
        self._require_room(text, held)
        at = to_millis(self._space.memory.clock())
        new = 1 if held is None else held.version + 1
        identities.add(connection, space, text, version=new, origin=origin, at=at)
        return self._shown(IdentityVersion(version=new, text=text, origin=origin, at=from_millis(at)))

    def _require_room(self, text: str, held: IdentityVersion | None) -> None:
        taken, before = characters.count(text), "" if held is None else held.text
        # Where the limit was lowered, what stands may be made shorter bit by bit.
        if taken <= self._most or taken < characters.count(before):
            return
        raise IdentityFull(
            f"The identity would have {taken:,} characters, {taken - self._most:,} more than the {self._most:,} there "
            f"is room for.",
            text=before,
            overflow=taken - self._most,
        )

    def _clean(self, text: str) -> str:
        return sections.normalised(storable(text, "identity", self._space.memory.settings))

    def _clean_section(self, title: str, text: str) -> tuple[str, str]:
        """Both as they may be stored: what a section is called tells what stands in it."""
        heading, body = self._clean(title), self._clean(text)
        together = self._clean(f"## {' '.join(heading.split())}\n{body}")
        return heading, together.partition("\n")[2]

    def _shown(self, held: IdentityVersion | None) -> IdentityText:
        if held is None:
            return IdentityText(text="", characters=0, most=self._most, version=0)
        return IdentityText(
            text=held.text,
            characters=characters.count(held.text),
            most=self._most,
            version=held.version,
            origin=held.origin,
            updated_at=held.at,
        )

    @property
    def _most(self) -> int:
        return self._space.memory.settings.identity.max_characters


def _require(version: int | None, held: IdentityVersion | None) -> None:
    standing = 0 if held is None else held.version
    if version is not None and version != standing:
        raise TextChanged(
            f"The identity is at version {standing}, and not at version {version} any more.", version=standing
        )


def _earlier(connection: Connection, space: str, held: IdentityVersion | None, to: int | None) -> str:
    """The text to go back to; before the first version there was none."""
    if held is None:
        raise InvalidInput("There is no change of the identity to undo.", way_out="Write it first.")
    wanted = held.version - 1 if to is None else to
    if wanted == 0:
        return ""
    found = identities.of_number(connection, space, wanted)
    if found is None:
        raise InvalidInput(f"There is no version {wanted} of the identity.", way_out="The history lists those kept.")
    return found.text
