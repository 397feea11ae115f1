"""Recall: finds what fits a message, ranks it, and renders the block that goes before the model."""
