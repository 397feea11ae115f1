"""What all tables share."""

from __future__ import annotations

from sqlalchemy import Column, MetaData, Text

HERE = "."

metadata = MetaData()


def space_column() -> Column[str]:
    """The column that every key starts with."""
    return Column("space", Text, nullable=False)
