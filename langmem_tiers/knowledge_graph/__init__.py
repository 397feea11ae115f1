"""The temporal knowledge graph: who and what is spoken of, how they relate, since when and until when."""
