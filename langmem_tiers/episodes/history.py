"""Whether a message asks about history: what was done, said or decided in earlier conversations. English, by rules."""

from __future__ import annotations

import re

_LOOKED_AT = 2000
_US = r"(?:we|you and i)"
_DID = r"(?:did|have|had|haven't|hadn't|didn't|were|weren't)"
_EVER = r"(?:ever |already |once |not |just |also |have |had )*"
_TALKED = r"(?:talked|spoken?|discussed|chatted|mentioned|gone over|went over)"
_SETTLED = r"(?:agreed|decided|settled|concluded|left off|worked on|planned|fixed|solved)"
_TOLD = r"(?:tell|told|sa(?:y|id)|mention(?:ed)?|ask(?:ed)?|show(?:n|ed)?|decided?|promised?)"
_ADVISED = r"(?:tell|told|sa(?:y|id)|suggest(?:ed)?|recommend(?:ed)?|proposed?|advised?|mention(?:ed)?|promised?)"
_AGO = (
    r"(?:yesterday|last (?:time|week|month|year|night|session|summer|winter|spring|autumn|fall|\w+day)"
    r"|before|previous(?:ly)?|earlier|the other day|back (?:then|in \w+)|\w+ (?:days?|weeks?|months?|years?) ago)"
)
_EARLIER = r"(?:last|previous|earlier|prior|past|older|first|most recent|yesterday's)"
_CONVERSATION = r"(?:conversation|session|chat|discussion|talk|thread|exchange)s?"
_PATTERNS = (
    # "what did we do last week", "how did we fix it", "do you know when we had that bug"
    rf"\b(?:what|how|when|why|where|which|who)\b[^.?!\n]{{0,60}}?\b(?:did|have|had|were|was) {_US}\b",
    # "did we ever fix the login", "so have we discussed this"
    rf"^(?:\W*(?:so|and|hey|ok|okay|but|wait|um|hmm)\W+)*{_DID} {_US}\b",
    # "the trip we talked about", "what we agreed on last time"
    rf"\b{_US} {_EVER}{_TALKED} (?:about|over|this|that|it)\b",
    rf"\b{_US} {_EVER}{_SETTLED}\b[^.!\n]*(?:\?|\b{_AGO}\b)",
    # "did I tell you about my trip", "what did you suggest", "you said last week that"
    rf"\b{_DID} i {_EVER}{_TOLD}\b",
    rf"\b{_DID} you {_EVER}{_ADVISED}\b",
    rf"\byou (?:told me|said|suggested|recommended|mentioned|proposed|advised)\b[^.!\n]*(?:\?|\b{_AGO}\b)",
    # "our last conversation", "in an earlier session", "the chat history"
    rf"\b{_EARLIER}(?: \w+)?[ -]{_CONVERSATION}\b|\b{_CONVERSATION} (?:history|log|from|last)\b",
    # "remember when we", "do you recall what I said"
    r"\b(?:remember|recall) (?:when|what|how|the time|that time|where|why|which|our|us)\b",
    # "where were we", "catch me up", "remind me what"
    r"\bwhere were we\b|\bleft off\b|\bpick (?:it |this )?up where\b",
    r"\b(?:catch me up|bring me up to (?:speed|date)|recap)\b",
    r"\bremind me (?:what|how|when|why|where|which|of (?:what|how|our))\b",
    # "what happened last week", "what was decided on Monday", "what did I do last month"
    r"\bwhat (?:happened|was (?:decided|agreed|done|said)|were the (?:decisions|results|outcomes|action items))\b",
    rf"\b(?:what|when|where|how) (?:did|have|had|was|were) i\b[^.?!\n]*\b{_AGO}\b",
    # "the last time we met", "a timeline of the project", "what have I learned"
    r"\b(?:last|other) time (?:we|i|you)\b|\b(?:history|timeline) of\b|\bwhat have (?:we|i) (?:been|done|learn)",
)
_HISTORY = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)


def asks_history(query: str) -> bool:
    """Whether a message asks what was done, said or decided before, so that the archive is worth searching.

    Example:
        >>> asks_history("How did we fix the login last week?"), asks_history("How do I fix the login?")
        (True, False)
    """
    return _HISTORY.search(" ".join(query[:_LOOKED_AT].replace("’", "'").split())) is not None
