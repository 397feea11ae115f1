"""What a browser sent in a form or behind the question mark of an address, checked as it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from langmem_tiers.errors import InvalidInput, InvalidText
from langmem_tiers.wording import beginning

_MOST_FIELDS = 5_000
_MOST_DIGITS = 15


class Values:
    """Texts by name; what was not sent is empty."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = values

    @classmethod
    def parsed(cls, encoded: bytes) -> Values:
        """The values of a form as browsers encode it.

        Raises:
            InvalidText: it is not UTF-8.
            InvalidInput: it has too many fields.
        """
        found: dict[str, list[str]] = {}
        try:
            pairs = parse_qsl(
                encoded.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except UnicodeError as error:
            raise InvalidText("The form is not in UTF-8.") from error
        except ValueError as error:
            raise InvalidInput(
                f"The form has more than {_MOST_FIELDS:,} fields.", way_out="Send less at once."
            ) from error
        for name, value in pairs:
            found.setdefault(name, []).append(value)
        return cls(found)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        """A text as it was typed; browsers end its lines with a carriage return, too."""
        return self._values.get(name, [""])[0].replace("\r\n", "\n")

    def word(self, name: str) -> str:
        """A text without blanks around it."""
        return self.text(name).strip()

    def every(self, name: str) -> tuple[str, ...]:
        """All texts of this name, such as those of the boxes that are ticked."""
        return tuple(self._values.get(name, ()))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each name with each of its texts, as they were sent."""
        return tuple((name, value) for name, values in self._values.items() for value in values)

    def flag(self, name: str) -> bool:
        """Whether a box is ticked, or a button was pressed."""
        return bool(self.text(name))

    def number(self, name: str) -> int | None:
        """A whole number of at least 0; None if there is none.

        Raises:
            InvalidInput: it is something else.
        """
        given = self.word(name)
        if not given:
            return None
        if not (given.isascii() and given.isdecimal() and len(given) <= _MOST_DIGITS):
            raise InvalidInput(f"{name!a} is not a number: {beginning(given, 40)!a}.", way_out="Give a whole number.")
        return int(given)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of these; the first one if there is none.

        Raises:
            InvalidInput: it is something else.
        """
        given = self.word(name) or choices[0]
        if given not in choices:
            raise InvalidInput(
                f"{name!a} cannot be {beginning(given, 40)!a}.", way_out=f"It is one of {', '.join(choices)}."
            )
        return given
