"""The palace: wings, closets and the tree of what was said; pure functions, no storage and no model."""
