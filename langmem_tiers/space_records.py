"""What a space lets one look at: messages, sessions, the palace, receipts and why, reports, usage."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, get_args

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.palace import tree
from langmem_tiers.pointers import parse_pointer
from langmem_tiers.twins import twin
from langmem_tiers.types import (
    Drawer,
    Explanation,
    PalaceWing,
    Receipt,
    Session,
    SpacePositions,
)

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.knowledge.episodes import Episodes
    from langmem_tiers.knowledge.reporting import Report, ReportKind
    from langmem_tiers.language.periods import When
    from langmem_tiers.models.usage import UsageLine
    from langmem_tiers.palace.browse import PalaceBrowser
    from langmem_tiers.storage.usages import UsageBy

# How far `usage` looks back at most: a hundred years.
_MOST_DAYS = 36_500


class SpaceRecords:
    """What a space lets one look at. The part of `Space` for it."""

    context: SpaceContext

    @property
    def browse(self) -> PalaceBrowser:
        """The palace piece by piece, for large ones: wings, rooms, closets, drawers, and what came of a drawer."""
        from langmem_tiers.palace.browse import PalaceBrowser

        return PalaceBrowser(self.context)

    def drawer(self, which: int | str) -> Drawer | None:
        """Return a drawer by its number or AAAK pointer (`§W-001/R-02/D-003`), or None.

        A pointer that names one of the fallbacks (`§W-001/R-02/D-003@teams/research`) leads there.

        Raises:
            InvalidPointer: `which` is a text but neither of these, it points to a room, or names another space.
            InvalidInput: `which` is neither a text nor a whole number.
        """
        from langmem_tiers.palace.lookup import look_up

        return look_up(self.context, which)

    def drawers(
        self, *, session: str | None = None, project: str | None = None, task: str | None = None
    ) -> tuple[Drawer, ...]:
        """Return all drawers of a session, a project or a task, or of the space, in the order they were stored."""
        from langmem_tiers.storage import drawers

        wanted = {
            "session": arguments.optional_text(session, "session"),
            "project": arguments.optional_name(project, "project"),
            "task": arguments.optional_name(task, "task"),
        }
        with self.context.open() as store, store.reading() as connection:
            return tuple(drawers.every(connection, store.key, **wanted))

    def ended(self, known: Iterable[Drawer]) -> dict[int, tuple[str, ...]]:
        """For each drawer by number, what says that it no longer holds, as blocks show it; empty if nothing does.

        Raises:
            InvalidInput: `known` holds something else, or a drawer of a fallback.
        """
        from langmem_tiers.knowledge import standing
        from langmem_tiers.storage.change_log import moment

        given = arguments.instances(known, "known", Drawer, "drawers")
        foreign = next((each.pointer for each in given if parse_pointer(each.pointer).space is not None), None)
        if foreign is not None:
            raise InvalidInput(
                f"{foreign} is in another space.", way_out="Ask the space that it is in: `source(name)`."
            )
        about = {each.number for each in given}
        with self.context.open() as store, store.reading() as connection:
            over = standing.in_drawers(store, moment(connection, store.key), about, self.context.clock())
        return {number: over.get(number, ()) for number in about}

    def sessions(self) -> tuple[Session, ...]:
        """Return all conversations, in the order they were opened."""
        from langmem_tiers.storage import rooms

        idle = self.context.settings.sessions.idle_minutes * 60_000
        now = to_millis(self.context.clock())
        with self.context.open() as store, store.reading() as connection:
            wings = {wing.number: wing.name for wing in rooms.every_wing(connection, store.key)}
            found = rooms.every(connection, store.key)
        return tuple(tree.session(room, wings[room.wing], idle_since=now - idle) for room in found)

    def end_session(self, session: str) -> None:
        """Mark a conversation as over; a later message reopens it. An unknown session is not an error."""
        from langmem_tiers.storage import change_log, rooms

        ended, now = arguments.text(session, "session"), to_millis(self.context.clock())
        with self.context.open() as store, store.writing() as connection:
            room = rooms.of_session(connection, store.key, ended)
            if room is not None and room.ended_at is None:
                rooms.end(connection, store.key, room.number, now)
                change_log.append(connection, store.key, "session.ended", room.number, at=now)

    @property
    def archive(self) -> Episodes:
        """Summaries of what each session and task was about."""
        from langmem_tiers.knowledge.episodes import Episodes

        return Episodes(self.context)

    def report(
        self,
        period: When | None = None,
        *,
        since: When | None = None,
        until: When | None = None,
        kind: ReportKind = "all",
        project: str | None = None,
        limit: int = 100,
    ) -> Report:
        """Say what happened in a period: its sessions and tasks with dates and abstracts, and what was decided.

        Sessions that go on or are not archived yet are in it, too, and are marked. No model is asked.

        Args:
            period: Words such as "last week", "this month" or "the last 3 days", or a date such as "2026-03".
            since: Instead of a period, where it begins: such words, a date, or a datetime with a zone.
            until: Where it ends, by default now; of a day, month or year, its end.
            kind: "tasks" leaves out sessions.
            project: Only sessions and tasks of this project.
            limit: The maximum number of sessions, and of tasks; older ones are counted in `left_out`.

        Raises:
            InvalidPeriod: It is no period, is given twice or not at all, or ends before it begins.
            NaiveDatetime: A time has no time zone.
            InvalidInput: Another argument is invalid.
        """
        from langmem_tiers.knowledge import reporting

        about = {"kind": kind, "project": project, "limit": limit}
        return reporting.report(self.context, period, since=since, until=until, **about)  # type: ignore[arg-type]

    areport = twin(report)

    def usage(self, *, days: int | None = None, by: UsageBy = "source") -> tuple[UsageLine, ...]:
        """Return what models used for this space: calls and tokens, by source, day, session or model.

        Args:
            days: Only the last so many days, counting today (UTC) as the first; None for all time.
            by: What each line adds up.

        Raises:
            InvalidInput: `days` is not a whole number from 1 to 36,500, or `by` is not one of these words.
        """
        from langmem_tiers.models.usage import UsageBook
        from langmem_tiers.storage.usages import UsageBy

        back = arguments.optional_whole(days, "days", least=1, most=_MOST_DAYS)
        since = None if back is None else (self.context.clock() - timedelta(days=back - 1)).date()
        known: UsageBy = arguments.one_of(by, "by", get_args(UsageBy))
        with self.context.open() as store:
            if store.writable:
                self.context.tally.book(self.context.name, store.database)
            return tuple(UsageBook(store.database).summary(since=since, by=known))

    def palace(self) -> tuple[PalaceWing, ...]:
        """Return the tree: wings, with their rooms, their closets and their drawers."""
        from langmem_tiers.storage import drawers, rooms

        with self.context.open() as store, store.reading() as connection:
            key = store.key
            wings, found = rooms.every_wing(connection, key), rooms.every(connection, key)
            held = drawers.every(connection, key)
        return tree.palace(wings, found, held)

    def receipts(
        self, *, session: str | None = None, before: int | None = None, after: int | None = None, limit: int = 20
    ) -> tuple[Receipt, ...]:
        """Return the receipts of the latest recalls, newest first; with `after`, those right after one, oldest first.

        Args:
            session: Only those of this conversation.
            before: Only those older than the receipt with this number: the next piece of a long list.
            after: Only those newer than the receipt with this number.
            limit: The most receipts.

        Raises:
            InvalidInput: `limit`, `before` or `after` is below 1, or `session` is no text.
        """
        from langmem_tiers.storage import receipts

        most = arguments.whole(limit, "limit", least=1)
        of = arguments.optional_text(session, "session")
        older = arguments.optional_whole(before, "before", least=1)
        newer = arguments.optional_whole(after, "after", least=1)
        with self.context.open() as store, store.reading() as connection:
            return tuple(receipts.latest(connection, store.key, most, session=of, before=older, after=newer))

    def receipt(self, number: int) -> Receipt | None:
        """Return the receipt of a recall by its number, or None if there is none, or no longer."""
        from langmem_tiers.storage import receipts

        wanted = arguments.whole(number, "number")
        with self.context.open() as store, store.reading() as connection:
            return receipts.one(connection, store.key, wanted)

    def receipt_block(self, number: int) -> str | None:
        """Return the block that a recall gave, as the model saw it, by the number of its receipt; None if that is gone.

        It is empty if nothing was shown.
        """
        from langmem_tiers.storage import receipts

        wanted = arguments.whole(number, "number")
        with self.context.open() as store, store.reading() as connection:
            return receipts.block(connection, store.key, wanted)

    def positions(self) -> SpacePositions:
        """Return how far the space has come; a fraction of a millisecond, to be asked every second or so.

        If a number differs from the last time, there is something new, also if another process wrote it.
        """
        from langmem_tiers.storage.positions import positions

        with self.context.open() as store, store.reading() as connection:
            return positions(connection, store.key)

    def why(self, receipt: int | None = None, of: int | str | None = None) -> Explanation:
        """Explain why a recall showed a memory, or why not; without `of`, why it showed what it did.

        What the receipt does not hold is looked for by making the recall again, on what was stored by then; that leaves
        no trace. The result says so (`repeated`), and what has changed since (`changed`).

        Args:
            receipt: The number of the recall, as `receipts` gives it; None for the last one.
            of: The memory: a pointer (`§W-001/R-02/D-003`), the number of a drawer, the id of an entry, a relation, an
                episode or an entity, the path of a document, or words of it.

        Raises:
            UnknownReceipt: There is no such recall, no longer, or none yet.
            UnknownMemory: Nothing is stored, nor was looked at, that `of` may mean.
            InvalidPointer: `of` points to a room, or into another space.
            InvalidInput: An argument has the wrong type, or is blank or below 1.
        """
        from langmem_tiers.recall import why

        number = arguments.optional_whole(receipt, "receipt", least=1)
        meant = of if of is None or isinstance(of, str) else arguments.whole(of, "of", least=1)
        return why.why(self.context, number, arguments.text(meant, "of") if isinstance(meant, str) else meant)

    awhy = twin(why)
