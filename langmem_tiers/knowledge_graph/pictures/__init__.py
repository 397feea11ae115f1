"""Pictures of the knowledge graph: drawings and pages."""
