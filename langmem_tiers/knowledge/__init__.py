"""Long-term knowledge: entries with their evidence, corrections, merging, and the ingestion of mined facts."""
