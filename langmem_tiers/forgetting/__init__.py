"""Forgetting: what goes along with messages, the removal in one transaction, and the purge of the bytes after it."""
