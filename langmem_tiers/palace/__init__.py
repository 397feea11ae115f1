"""The palace: addresses, names and tags of what was said; pure functions, no storage and no model."""
