"""The key that identifies equal texts, wherever they come from."""

from __future__ import annotations

import hashlib


def content_hash(text: str) -> bytes:
    """BLAKE2b-128 of a text in UTF-8."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def keyed_hash(key: bytes, secret: bytes) -> bytes:
    """BLAKE2b-128 of a hash under a secret: without it nobody can tell what was hashed."""
    return hashlib.blake2b(key, key=secret, digest_size=16).digest()


WITHHELD = "[withheld: these are not the words that were stored; `langmem-tiers doctor --deep` says what to do]"
"""What is served in the place of a stored text that was altered outside this package, or damaged."""
