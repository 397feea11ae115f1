"""Entities and relations found in what was said, without a model."""
