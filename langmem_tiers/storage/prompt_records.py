"""The records that every conversation begins with, but for what is known of the user: in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import BindParameter, Connection, and_, bindparam, func, select

from langmem_tiers.records import Document, IdentityVersion
from langmem_tiers.storage import documents, identities
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.schema import changes
from langmem_tiers.storage.schema import documents as document_rows
from langmem_tiers.storage.schema import identities as versions
from langmem_tiers.storage.statements import Prepared, here


class PromptRecords(NamedTuple):
    """The moment of which they are, the identity, if there is one, and those of some documents that there are."""

    seen: Moment
    identity: IdentityVersion | None
    documents: dict[str, Document]


_others = versions.alias("others")
_NOW = select(func.coalesce(func.max(changes.c.position), 0).label("head")).where(*here(changes)).subquery()
_NEWEST = select(func.max(_others.c.version)).where(*here(_others)).scalar_subquery()
_PATHS: BindParameter[str] = bindparam("paths", expanding=True)
_RECORDS = Prepared(
    select(_NOW.c.head, *identities.VERSION, *documents.DOCUMENT).select_from(
        _NOW.outerjoin(versions, and_(*here(versions), versions.c.version == _NEWEST)).outerjoin(
            document_rows, and_(*here(document_rows), document_rows.c.path.in_(_PATHS))
        )
    )
)


def read(connection: Connection, space: str, paths: Sequence[str]) -> PromptRecords:
    """The current identity, and the documents at these paths."""
    rows = _RECORDS.rows(connection, space=space, paths=paths)
    head, *rest = rows[0]
    identity = rest[: len(identities.VERSION)]
    found = [row[1 + len(identity) :] for row in rows]
    return PromptRecords(
        seen=Moment(connection, head),
        identity=None if identity[0] is None else identities.version_of(identity),
        documents=documents.of_rows(row for row in found if row[0] is not None),
    )
