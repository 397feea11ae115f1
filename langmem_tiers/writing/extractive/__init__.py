"""Mining without a model: what users state of themselves, abstracts, summaries and topics, by rules alone.

English is understood; a text in another script gives no proposals, and abstracts of it are its own sentences.
"""

from langmem_tiers.writing.extractive.facts import proposals
from langmem_tiers.writing.extractive.gist import abstract, summary
from langmem_tiers.writing.extractive.topics import key_topics
from langmem_tiers.writing.extractive.turn import LONGEST, is_cut

__all__ = ["LONGEST", "abstract", "is_cut", "key_topics", "proposals", "summary"]
