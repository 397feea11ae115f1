"""The identity of a space: reading it, and editing its sections and lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import AuthorityTooLow, IdentityFull, InvalidInput, TextChanged
from langmem_tiers.knowledge import markdown_sections as sections
from langmem_tiers.knowledge import validation
from langmem_tiers.knowledge.prompt_blocks import identity_block
from langmem_tiers.knowledge.results import IdentityPreview, IdentityText
from langmem_tiers.language import characters
from langmem_tiers.records import IdentityVersion
from langmem_tiers.storage import identities, purging
from langmem_tiers.trust import safety
from langmem_tiers.twins import twin
from langmem_tiers.types import Origin

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext

DEFAULT_SECTION = "Notes"


class Identity:
    r"""The user's core profile: Markdown in "## Section" blocks, always in the prompt, and therefore small.

    `Settings.identity.max_characters` is a hard limit, counted as users see characters. A change that does not fit is
    refused with the current text and the overflow. Every change is kept as a version until `forget_history`; one
    without effect makes none. Each method has a twin named `a…` that does the same in a thread.

    If `version` is given, the change is only made if that is the current version (0: never written). Methods that
    change a part read and write in one transaction: even without `version`, no concurrent change is lost; they raise
    `DatabaseDamaged` if the words were altered since they were stored. A change of
    the origin `tool` raises `AuthorityTooLow`. Where the origin is not `user`, new lines that would make the assistant
    less careful get "(ask the user before acting on this)", and do not stand in the prompt until the user takes that
    away.

    Example:
        >>> identity.add("Speaks German and Portuguese.", section="Languages").text
        '## Languages\n- Speaks German and Portuguese.'
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"Identity({self._context.name!r})"

    def read(self) -> IdentityText:
        """The current identity, and how much of its space it takes."""
        with self._context.open() as store, store.reading() as connection:
            return self._shown(identities.newest(connection, store.key))

    def prompt_block(self) -> str:
        """The identity for a system prompt, fenced and escaped, with its usage; empty if there is none."""
        return identity_block(self.read())

    def preview(self, text: str) -> IdentityPreview:
        """What `write` would make of a text, without writing it: its length, and the block. It may be too long.

        Raises:
            SecretRefused: it contains a secret, and `Settings.privacy.derived` refuses these.
        """
        new = self._clean(arguments.any_text(text, "text"))
        held = self.read()
        draft = replace(held, text=new, characters=characters.count(new))
        return IdentityPreview(
            text=new, characters=draft.characters, most=draft.most, block=identity_block(draft), version=held.version
        )

    def write(self, text: str, *, version: int | None = None, origin: Origin = "user") -> IdentityText:
        """Replace the whole identity with `text`; an empty text clears it.

        Raises:
            IdentityFull: it is too long; nothing was changed.
            TextChanged: `version` is not the current version.
            SecretRefused: it contains a secret, and `Settings.privacy.derived` refuses these.
        """
        new = self._clean(arguments.any_text(text, "text"))
        return self._change(lambda _: new, version=version, origin=origin)

    def add(
        self, line: str, *, section: str = DEFAULT_SECTION, version: int | None = None, origin: Origin = "user"
    ) -> IdentityText:
        """Add a line to a section as a list item, creating the section if needed. An existing line is not repeated.

        Raises:
            InvalidText: the line or the section's name is blank.
            IdentityFull, TextChanged, SecretRefused: as for `write`.
        """
        title, new = self._clean_section(arguments.any_text(section, "section"), arguments.any_text(line, "line"))
        return self._change(lambda held: sections.with_line(_intact(held), new, title), version=version, origin=origin)

    def replace(self, section: str, text: str, *, version: int | None = None, origin: Origin = "user") -> IdentityText:
        """Replace the content of a section with `text`, creating it if needed; an empty text removes it.

        Raises:
            InvalidText: the section's name is blank, or the text contains the heading of another section.
            IdentityFull, TextChanged, SecretRefused: as for `write`.
        """
        title, new = self._clean_section(arguments.any_text(section, "section"), arguments.any_text(text, "text"))
        return self._change(
            lambda held: sections.with_section(_intact(held), title, new), version=version, origin=origin
        )

    def remove(self, what: str, *, version: int | None = None, origin: Origin = "user") -> IdentityText:
        """Remove a section, given by its title, or a line, given by its text or by words that only it contains.

        Raises:
            InvalidText: there is no such section or line, or there are several such lines.
            TextChanged: `version` is not the current version.
        """
        gone = arguments.text(what, "what")
        return self._change(lambda held: sections.without(_intact(held), gone), version=version, origin=origin)

    def history(self, *, limit: int = 20) -> tuple[IdentityVersion, ...]:
        """The latest versions, newest first.

        Raises:
            InvalidInput: `limit` is below 1.
        """
        most = arguments.whole(limit, "limit", least=1)
        with self._context.open() as store, store.reading() as connection:
            return tuple(identities.latest(connection, store.key, most))

    def undo(self, *, to: int | None = None, origin: Origin = "user") -> IdentityText:
        """Restore the previous version, or the version `to`, as a new version.

        Undoing twice restores the current text.

        Raises:
            InvalidInput: there is no such version (any more).
            IdentityFull: the limit was lowered since.
        """
        wanted, by = arguments.optional_whole(to, "to"), validation.origin(origin)
        with self._context.open() as store, store.writing() as connection:
            held = identities.newest(connection, store.key)
            text = _earlier(connection, store.key, held, wanted)
            return self._put(connection, store.key, held, text, by)

    def forget_history(self) -> int:
        """Delete all versions but the current one, and return their number. They can no longer be restored."""
        with self._context.open() as store, store.writing() as connection:
            held = identities.newest(connection, store.key)
            gone = 0 if held is None else identities.forget_before(connection, store.key, held.version)
            if gone:
                purging.request(connection, store.key, at=to_millis(self._context.clock()))
            return gone

    aread = twin(read)
    aprompt_block = twin(prompt_block)
    apreview = twin(preview)
    awrite = twin(write)
    aadd = twin(add)
    areplace = twin(replace)
    aremove = twin(remove)
    ahistory = twin(history)
    aundo = twin(undo)
    aforget_history = twin(forget_history)

    def _change(self, edit: Callable[[str], str], *, version: int | None, origin: Origin) -> IdentityText:
        read, known = arguments.optional_whole(version, "version", least=0), validation.origin(origin)
        if known == "tool":  # it stands before every conversation
            raise AuthorityTooLow(
                "A tool's result does not change the profile of the user.",
                way_out="Save it as a memory of its own, where it is shown as a tool's; or ask the user to say so.",
            )
        with self._context.open() as store, store.writing() as connection:
            held = identities.newest(connection, store.key)
            _require(read, held)
            new = sections.normalised(edit("" if held is None else held.text))
            return self._put(connection, store.key, held, new, known)

    def _put(
        self, connection: Connection, space: str, held: IdentityVersion | None, text: str, origin: Origin
    ) -> IdentityText:
        """Store a text if it fits and differs from the current one; a change not by the user may hold back lines."""
        if origin != "user":
            text = safety.asked_first(text, known="" if held is None else held.text)
        if text == ("" if held is None else held.text):
            return self._shown(held)
        self._require_room(text, held)
        at = to_millis(self._context.clock())
        new = 1 if held is None else held.version + 1
        identities.add(connection, space, text, version=new, origin=origin, at=at)
        return self._shown(IdentityVersion(version=new, text=text, origin=origin, at=from_millis(at)))

    def _require_room(self, text: str, held: IdentityVersion | None) -> None:
        taken, before = characters.count(text), "" if held is None else held.text
        # If the limit was lowered, an over-long text may still be shortened step by step.
        if taken <= self._most or taken < characters.count(before):
            return
        raise IdentityFull(
            f"The identity would have {taken:,} characters, {taken - self._most:,} more than the {self._most:,} there "
            f"is room for.",
            text=before,
            overflow=taken - self._most,
        )

    def _clean(self, text: str) -> str:
        return sections.normalised(validation.text(text, "identity", self._context.settings))

    def _clean_section(self, title: str, text: str) -> tuple[str, str]:
        """Both as they may be stored: a section's name can give away its content."""
        heading, body = self._clean(title), self._clean(text)
        together = self._clean(f"## {' '.join(heading.split())}\n{body}")
        return heading, together.partition("\n")[2]

    def _shown(self, held: IdentityVersion | None) -> IdentityText:
        return identity_text(held, self._most)

    @property
    def _most(self) -> int:
        return self._context.settings.identity.max_characters


def _require(version: int | None, held: IdentityVersion | None) -> None:
    standing = 0 if held is None else held.version
    if version is not None and version != standing:
        raise TextChanged(
            f"The identity is at version {standing}, and not at version {version} any more.", version=standing
        )


def _earlier(connection: Connection, space: str, held: IdentityVersion | None, to: int | None) -> str:
    """The text to restore; before the first version it was empty."""
    if held is None:
        raise InvalidInput("There is no change of the identity to undo.", way_out="Write it first.")
    wanted = held.version - 1 if to is None else to
    if wanted == 0:
        return ""
    found = identities.of_number(connection, space, wanted)
    if found is None:
        raise InvalidInput(f"There is no version {wanted} of the identity.", way_out="The history lists those kept.")
    return _intact(found.text)


def _intact(text: str) -> str:
    return validation.as_stored(text, "identity")


def identity_text(held: IdentityVersion | None, most: int) -> IdentityText:
    """A version with how much of its space it takes; `most` are the characters that it may have."""
    if held is None:
        return IdentityText(text="", characters=0, most=most, version=0)
    return IdentityText(
        text=held.text,
        characters=characters.count(held.text),
        most=most,
        version=held.version,
        origin=held.origin,
        updated_at=held.at,
    )
