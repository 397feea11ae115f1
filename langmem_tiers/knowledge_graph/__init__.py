"""The temporal knowledge graph: people and things, how they are related, and from when until when."""
