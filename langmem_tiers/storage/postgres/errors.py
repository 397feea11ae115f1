"""Where errors of PostgreSQL and its driver become this package's errors; bugs pass through unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from langmem_tiers.errors import (
    DatabaseDamaged,
    DatabaseLocked,
    DiskFull,
    InvalidText,
    ServerBusy,
    ServerRefused,
    ServerUnreachable,
    StorageError,
)

# Classes and codes of errors (https://www.postgresql.org/docs/15/errcodes-appendix.html), the longer ones first.
_BY_STATE: tuple[tuple[str, type[StorageError], str], ...] = (
    ("55P03", DatabaseLocked, "Another transaction holds the space"),
    ("57014", DatabaseLocked, "A statement took longer than it may"),
    ("40", DatabaseLocked, "Two transactions were in each other's way"),
    ("53100", DiskFull, "The disk of the server is full"),
    ("53200", StorageError, "The server has no memory left for this"),
    ("53400", StorageError, "A limit that the server was given is reached"),
    ("53", ServerBusy, "The server has no room for another connection"),
    ("28", ServerRefused, "The server does not let this user in"),
    ("3D", ServerRefused, "The server has no such database"),
    ("42501", ServerRefused, "This user may not do that"),
    ("25006", ServerRefused, "The server takes no changes: it is a copy for reading, or is being moved"),
    ("42P01", DatabaseDamaged, "A table of the memory is missing"),
    ("42703", DatabaseDamaged, "A column of the memory is missing"),
    ("25P03", ServerUnreachable, "The server has ended a transaction that did nothing for too long"),
    ("23", DatabaseDamaged, "The records contradict each other"),
    ("58", StorageError, "The server could not read or write its files"),
    ("XX", DatabaseDamaged, "The server found its files damaged"),
    ("57P", ServerUnreachable, "The server is going down or coming up"),
    ("08", ServerUnreachable, "The server cannot be reached"),
)
_FULL = ("too many connections", "too many clients", "connection slots are reserved")
# Without a code, when a connection cannot be made.
_BY_WORDS: tuple[tuple[tuple[str, ...], type[StorageError], str], ...] = (
    (
        ("password authentication", "no pg_hba.conf entry", "does not exist", "no password supplied"),
        ServerRefused,
        "The server does not let this user in",
    ),
    (("permission denied",), ServerRefused, "This user may not do that"),
    (
        _FULL,
        ServerBusy,
        "The server has no room for another connection",
    ),
)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Translate what goes wrong with a server inside the block into this package's errors, keeping the cause."""
    import psycopg  # an extra

    try:
        yield
    except exc.TimeoutError as error:
        raise ServerBusy(f"All connections to {where} are in use.") from error
    except UnicodeEncodeError as error:
        raise InvalidText("A text holds a lone surrogate.") from error
    except (exc.DBAPIError, psycopg.Error) as error:
        known = _known(_cause(error))
        if known is None:
            raise
        kind, what = known
        raise kind(f"{what}: {where} ({in_short(error)}).") from error


def lies_in_server(error: BaseException) -> bool:
    """Whether it is the server that fails or refuses, and neither the statement nor the tables are wrong."""
    known = _known(_cause(error))
    return known is not None and known[0] is not DatabaseDamaged


def in_short(error: BaseException) -> str:
    """What the server said, in one line."""
    return " ".join(str(_cause(error)).split())[:300]


def says_full(error: BaseException) -> bool:
    """Whether the server has refused a connection since it has no room for another one."""
    import psycopg  # an extra

    return isinstance(error, psycopg.OperationalError) and any(each in str(error) for each in _FULL)


def _cause(raised: BaseException) -> BaseException | None:
    """What went wrong with the server first: after that, its connection cannot even be given back."""
    from langmem_tiers.storage.postgres.patience import NoAnswer

    before = error = raised.orig if isinstance(raised, exc.DBAPIError) else raised
    while before is not None and not isinstance(before, NoAnswer):
        before = before.__context__
    return before or error


def _known(cause: BaseException | None) -> tuple[type[StorageError], str] | None:
    import psycopg  # an extra

    state = getattr(cause, "sqlstate", None) or ""
    for beginning, kind, what in _BY_STATE:
        if state.startswith(beginning):
            return kind, what
    said = str(cause)
    if not state and "invalid connection option" in said:  # to the driver, that is a mistake of the program
        return ServerRefused, "The address has an option that there is not"
    if state or not isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return None
    unnamed = ((kind, what) for words, kind, what in _BY_WORDS if any(each in said for each in words))
    return next(unnamed, (ServerUnreachable, "The server cannot be reached"))
