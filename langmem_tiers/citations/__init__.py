"""Checking the memories that an answer cites: that they exist, and that the model had them before it.

>>> from langmem_tiers.citations import check_citations
>>> checked = check_citations(alice, answer, session="friday")  # doctest: +SKIP
>>> print(checked.render("notes"))  # doctest: +SKIP
"""

from langmem_tiers.citations.check import check_citations
from langmem_tiers.citations.checked import Citations
from langmem_tiers.citations.types import Citation, CitedKind, UnknownCitation

__all__ = ["Citation", "Citations", "CitedKind", "UnknownCitation", "check_citations"]
