"""Word lists of the rule-based reader: what people are, own, do and like, and words of mere enthusiasm.

The lists are in `data/vocabulary.toml`; those stored as texts are pattern alternatives without an enclosing group.
"""

from __future__ import annotations

from langmem_tiers.language.word_lists import listed, table


def _alternatives(key: str) -> str:
    alternatives: str = table("vocabulary")[key]
    return "".join(alternatives.splitlines())


PETS = _alternatives("pets")
KIN = _alternatives("kin")
THINGS = _alternatives("things")
PROJECT = _alternatives("project")
FACTS = _alternatives("facts")
BEING = _alternatives("being")
STATES = _alternatives("states")
CONDITIONS = _alternatives("conditions")
TURNING_POINTS = _alternatives("turning_points")
DEEDS = _alternatives("deeds")
HAPPENINGS = _alternatives("happenings")
UPCOMING = _alternatives("upcoming")
LIKING = _alternatives("liking")
HABITUAL = listed("vocabulary", "habitual")
GUSH = listed("vocabulary", "gush")
FELT = listed("vocabulary", "felt")
FAINT = listed("vocabulary", "faint") | FELT
FAINT_ADJECTIVES = listed("vocabulary", "faint_adjectives")
EVERYDAY = listed("vocabulary", "everyday")
FIELDS_OF_STUDY = _alternatives("fields_of_study")
FAVOURITES = _alternatives("favourites")
KINDS_OF_JOB = _alternatives("kinds_of_job")
JOBS = _alternatives("jobs")
PRACTICES = _alternatives("practices")
INSTRUMENTS = _alternatives("instruments")
MAKING = _alternatives("making")
ABSTRACT = listed("vocabulary", "abstract")
OUTINGS = _alternatives("outings")
OWNED_THINGS = _alternatives("owned_things")
KINDS_OF_THING = _alternatives("kinds_of_thing")
UNITS = _alternatives("units")
