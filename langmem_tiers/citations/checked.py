"""What a check of citations gives: what was cited, what of it exists, and what the model had before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from langmem_tiers import arguments
from langmem_tiers.citations.notes import rendered
from langmem_tiers.citations.types import Citation, Cited, Markup, Style, UnknownCitation


@dataclass(frozen=True, kw_only=True, slots=True)
class Citations:
    """What an answer cites, each once, in order of first mention.

    `found` exists, and the model had it before it (or nothing was given to tell that by); `not_shown` exists, but the
    model was not given it; `unknown` does not exist. `left_out` counts what was not looked up, in an answer that cites
    more than anybody checks.
    """

    answer: str
    found: tuple[Citation, ...] = ()
    not_shown: tuple[Citation, ...] = ()
    unknown: tuple[UnknownCitation, ...] = ()
    left_out: int = 0

    @property
    def ok(self) -> bool:
        """Whether all that is cited exists and was shown; an answer that cites nothing is fine, too."""
        return not (self.not_shown or self.unknown or self.left_out)

    def __iter__(self) -> Iterator[Cited]:
        """All that is cited, in order of first mention."""
        every: list[Cited] = [*self.found, *self.not_shown, *self.unknown]
        return iter(sorted(every, key=lambda each: each.places))

    def render(self, style: Style = "notes", *, markup: Markup = "markdown") -> str:
        """The answer with what it cites in words: "according to what you said on 3 March 2026 (§W-001/R-02/D-003)".

        Stored text is escaped, so that it is neither Markdown nor HTML, and has no control characters; the words of the
        answer itself stay as they are.

        Args:
            style: "notes" puts a mark at each place and a note with the quoted words at the end; "inline" says it where
                it is cited, without quoting.
            markup: "markdown" writes footnotes (`[^m1]`), "text" plain marks (`[1]`).

        Raises:
            InvalidInput: `style` or `markup` is none of these words.
        """
        arguments.one_of(style, "style", get_args(Style))
        arguments.one_of(markup, "markup", get_args(Markup))
        return rendered(self.answer, [*self], style, markup)
