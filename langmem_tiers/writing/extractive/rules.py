"""The table of rules, and the first of them that fits a clause."""

from __future__ import annotations

from langmem_tiers.writing.extractive.rule import Found, Listener
from langmem_tiers.writing.extractive.rules_of_events import EVENTS, OBLIGED, PAST, PURSUITS
from langmem_tiers.writing.extractive.rules_of_plans import ACTIONS, DECISIONS, PROJECTS
from langmem_tiers.writing.extractive.rules_of_self import IDENTITY, OWNED
from langmem_tiers.writing.extractive.rules_of_taste import PREFERENCES


def first_fitting(clause: str, listener: Listener) -> Found | None:
    """The first rule of the table that fits the clause."""
    for rule in RULES:
        match = rule.pattern.match(clause) if rule.listener in {"anyone", listener} else None
        if match and rule.accept(match):
            return Found(rule=rule, match=match)
    return None


RULES = (
    *IDENTITY,
    *PREFERENCES[:2],
    *OWNED,
    *DECISIONS,
    *ACTIONS,
    *PROJECTS,
    *PREFERENCES[2:],
    *EVENTS,
    *PURSUITS,
    *OBLIGED,
    *PAST,
)
