"""Whether entries are merged, put aside or filed elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langmem_tiers.dream import founding, grounds
from langmem_tiers.dream.blending import blended, says
from langmem_tiers.dream.cleaning import filed_on_purpose
from langmem_tiers.dream.hearing import Hearing, of_the_very_same_words
from langmem_tiers.dream.types import EntrySeen, MergeEntries, RefineEntry, RetireEntry
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.knowledge.wordings import plain
from langmem_tiers.settings import Settings

OWN_TAGS = frozenset({"anti-pattern", "inferred"})
"""Tags with a meaning of their own."""

_MOST_SOURCES = 10


def merge(hearing: Hearing, merge: MergeEntries) -> str | None:
    """Why entries do not become one; None where they do."""
    reason = _unsound(hearing, merge)
    if reason is not None:
        hearing.refused.update(merge.sources if merge.path == "model" else ())
        return reason
    free = of_the_very_same_words(merge, hearing.entries)
    hearing.retire(merge.sources, cost=0 if free else len(merge.sources))
    hearing.taken.add(saying(merge.content))
    return None


def _unsound(hearing: Hearing, merge: MergeEntries) -> str | None:
    """Why a merge is not carried out; None where it is."""
    if reason := _wrong_sources(hearing, merge.sources):
        return reason
    sources = [hearing.entries[each] for each in merge.sources]
    reason = (
        _unlike(sources)
        or _made_up(merge, sources)
        or _wrong_text(hearing, merge)
        or _wrong_filing(merge, sources, hearing.settings)
    )
    reason = reason or blended(merge.content, [each.content for each in sources]) or _demoting(merge, sources)
    if reason or of_the_very_same_words(merge, hearing.entries):
        return reason
    return hearing.over(len(sources))


def _unlike(sources: Sequence[EntrySeen]) -> str | None:
    return next((why for each in sources[1:] if (why := grounds.alike_kept(sources[0], each))), None)


def _made_up(merge: MergeEntries, sources: Sequence[EntrySeen]) -> str | None:
    """Whether words of its own would rest on nothing; those of a source rest on what that one rests on."""
    if any(each.evidence for each in sources):
        return None
    if any(same_fact(merge.content, each.content, None).same for each in sources):
        return None
    return "it would rest on no message, and no entry says it in these words"


def _demoting(merge: MergeEntries, sources: Sequence[EntrySeen]) -> str | None:
    """Why a merge would only take away from what is said with more authority than it would have.

    It has that of the least trusted of its sources, whoever proposes it. Where one that is trusted more says all of it,
    that one stays as it is, and the others can give way to it.
    """
    lowest = min(each.authority for each in sources)
    higher = (each for each in sources if each.authority > lowest and says(each.content, merge.content))
    found = next(higher, None)
    return f"entry {found.id} says all of it, and is trusted more than the merge would be" if found else None


def _wrong_sources(hearing: Hearing, sources: Sequence[str]) -> str | None:
    if reason := next((why for each in sources if (why := hearing.missing(each))), None):
        return reason
    if len(set(sources)) < len(sources):
        return "it names an entry twice"
    if len(sources) < 2:
        return "it has fewer than two sources"
    if len(sources) > _MOST_SOURCES:
        return f"it has more than {_MOST_SOURCES} sources"
    expired = next((each for each in sources if grounds.has_expired(hearing.entries[each], hearing.material.at)), None)
    return f"entry {expired} has expired" if expired else None


def _wrong_text(hearing: Hearing, merge: MergeEntries) -> str | None:
    if reason := founding.content(merge.content, hearing.settings):
        return reason
    if saying(merge.content) in hearing.taken:
        return "another merge says it already"
    others = (each for each in hearing.by_word.with_words_of(merge.content) if each.id not in merge.sources)
    twin = next((each for each in others if plain(each.content) == plain(merge.content)), None)
    return f"entry {twin.id} says it already" if twin else None


def saying(content: str) -> str:
    """What stands for a text among what may be in one proposal only."""
    return f"content:{plain(content)}"


def _wrong_filing(merge: MergeEntries, sources: Sequence[EntrySeen], settings: Settings) -> str | None:
    own = grounds.special(sources[0].category)
    if merge.category and grounds.special(merge.category) != own:
        return f"{merge.category[:40]!r} is no category for these entries"
    kept = {tag for each in sources for tag in each.tags}
    return invalid_filing(merge.category, set(merge.tags), kept, settings)


def invalid_filing(category: str | None, tags: set[str], kept: set[str], settings: Settings) -> str | None:
    """Why a category and tags can not be given; None where they may be. Tags with a meaning of their own are kept."""
    if own := OWN_TAGS & (tags - kept):
        return f"the tag {min(own)!r} is not given by a refinement"
    texts = (*([category] if category else []), *sorted(tags))
    if reason := next((why for each in texts if (why := founding.unfit(each, "filing", settings))), None):
        return reason
    try:
        checks.category(category, settings)
        checks.tags(tags, settings)
    except InvalidInput as error:
        return error.message
    return None


def retire(hearing: Hearing, proposal: RetireEntry) -> str | None:
    """Why an entry is not put aside; None where it is."""
    reason = hearing.missing(proposal.id) or _needed(hearing, proposal)
    if reason is not None:
        return reason
    entry = hearing.entries[proposal.id]
    if proposal.successor is None and grounds.has_expired(entry, hearing.material.at):
        hearing.retire([entry.id], cost=0)  # it was due
        return None
    if reason := hearing.over(1):
        return reason
    if _needs_no_successor(hearing, proposal, entry):
        hearing.retire([entry.id], cost=1)
        return None
    instead = next((each for each in _successors(hearing, proposal, entry) if _stands_for(hearing, each, entry)), None)
    if instead is None:
        return _groundless(proposal)
    hearing.retire([entry.id], cost=1)
    hearing.leant_on.add(instead.id)
    return None


def _needed(hearing: Hearing, proposal: RetireEntry) -> str | None:
    if proposal.id in hearing.leant_on:
        return f"another entry is retired because entry {proposal.id} stays"
    in_vain = proposal.path == "model" and proposal.id in hearing.refused
    return f"the merge of entry {proposal.id} was refused" if in_vain else None


def _needs_no_successor(hearing: Hearing, proposal: RetireEntry, entry: EntrySeen) -> bool:
    if proposal.successor is not None:
        return False
    faded = grounds.has_faded(entry, hearing.material.at, hearing.settings.dream.fade_days)
    return grounds.says_nothing(entry) or faded


def _successors(hearing: Hearing, proposal: RetireEntry, entry: EntrySeen) -> Iterable[EntrySeen]:
    if proposal.successor is None:
        return hearing.by_word.with_words_of(entry.content)
    named = hearing.entries.get(proposal.successor)
    return [] if named is None else [named]


def _stands_for(hearing: Hearing, other: EntrySeen, entry: EntrySeen) -> bool:
    stays = other.id not in hearing.gone and not grounds.has_expired(other, hearing.material.at)
    return stays and (grounds.covers(other, entry) or grounds.outdates(other, entry))


def _groundless(proposal: RetireEntry) -> str:
    if proposal.successor is None:
        return "nothing shows that it is noise: no other entry says it, and it has not expired"
    return f"entry {proposal.successor[:40]!r} does not stand for it"


def refine(hearing: Hearing, proposal: RefineEntry) -> str | None:
    """Why an entry is not filed elsewhere; None where it is."""
    if reason := hearing.missing(proposal.id):
        return reason
    entry = hearing.entries[proposal.id]
    if reason := _ill_filed(proposal, entry):
        return reason
    if reason := invalid_filing(proposal.category, set(proposal.tags or ()), set(entry.tags), hearing.settings):
        return reason
    return hearing.once({f"refined:{entry.id}"}, "entry") or hearing.refined_too_many(proposal)


def _ill_filed(proposal: RefineEntry, entry: EntrySeen) -> str | None:
    if _as_it_is(proposal, entry):
        return "it changes nothing"
    if any(map(grounds.special, filter(None, (entry.category, proposal.category)))):
        return "its place has a meaning of its own"
    if proposal.path == "rule" and filed_on_purpose(entry):
        return "its place is chosen by the user"
    if proposal.path == "model" and (reason := _given(proposal, entry)):
        return reason
    if proposal.tags is not None and OWN_TAGS & (set(entry.tags) - set(proposal.tags)):
        return "it would lose a tag with a meaning of its own"
    return None


def _given(proposal: RefineEntry, entry: EntrySeen) -> str | None:
    """What of its place was given with it: a model only fills in what is missing."""
    if proposal.category not in (None, entry.category) and entry.category != checks.DEFAULT_CATEGORY:
        return f"it has a category already: {entry.category}"
    return "it has tags already" if proposal.tags not in (None, entry.tags) and entry.tags else None


def _as_it_is(proposal: RefineEntry, entry: EntrySeen) -> bool:
    return proposal.category in (None, entry.category) and proposal.tags in (None, entry.tags)
