"""What the patterns of the rules are built of: who speaks, with adverbs and short forms."""

from __future__ import annotations

import re

from langmem_tiers.writing.extractive.clauses import OPENING_TIME
from langmem_tiers.writing.extractive.grammar import ADVERBS

SOME_ADVERBS = f"(?: (?:{'|'.join(sorted(ADVERBS))}|[a-z]{{3,}}ly))*"


COUNTED = r"(?:an?|another|one|two|three|four|five|six|seven|eight|nine|ten|no|twin|some|\d+|several|many)"


NAMED = r"[A-Z][\w'-]+"


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, with a time that may stand before it: "Last week I …"."""
    return re.compile(f"{OPENING_TIME}{pattern}")


I_DO = rf"I{SOME_ADVERBS}"


I_AM = rf"(?:I'm|I am|I was|I've been|I have been){SOME_ADVERBS}"


WE_OR_I = rf"(?:I|[Ww]e)(?:'ve|'d| have| had)?{SOME_ADVERBS}"


MY = "(?:[Mm]y|[Oo]ur)"


IS = r"(?:'s(?= (?:an?|the|not|in|on|at|due|called|named|from|my|\$?\d|[A-Z]))| is| are| was| were| will be| has been)"
