"""A rule: what a clause must look like to be worth keeping, and what it is then."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from langmem_tiers.palace.slugs import slugify
from langmem_tiers.writing.extractive.rewriting import Subject
from langmem_tiers.writing.proposals import ProposalKind

Listener = Literal["anyone", "agent", "people"]


Accept = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A shape of clause that is worth keeping.

    `form` writes the sentence from the groups of the match where turning the clause would not read well; `{They}` and
    `{Their}` in it are the subject. `listener` restricts the rule to talks with an agent, or of people; `ahead` says
    that its dates lie in the future, `happened` that it tells of one occasion, `quoted` that its words are never
    turned.
    """

    kind: ProposalKind
    category: str
    pattern: re.Pattern[str]
    accept: Accept = lambda match: True
    form: str | None = None
    listener: Listener = "anyone"
    ahead: bool = False
    happened: bool = False
    quoted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A rule that fits a clause, and how."""

    rule: Rule
    match: re.Match[str]

    def category(self, subject: Subject) -> str:
        """Where it belongs; groups of the match and the speaker fill what is left open."""
        groups = {name: slugify(value or "general") for name, value in self.match.groupdict().items()}
        return self.rule.category.format(**groups, me=slugify(subject.name or "user"))
