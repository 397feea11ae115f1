"""Entities and relations found in what was said, without a model.

English is understood. Precision comes first: what is asked, supposed, wished, denied, quoted or said in another
language is no claim, and who is meant by "she" has to be sure.
"""

from langmem_tiers.knowledge_graph.rules.reading import proposals

__all__ = ["proposals"]
