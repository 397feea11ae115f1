"""Dreams consolidate a space: models or rules propose changes, a pure function judges them, and they are applied."""
