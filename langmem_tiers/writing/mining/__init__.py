"""Mining: what is worth keeping of a conversation, found by a model or by rules when it pauses."""
