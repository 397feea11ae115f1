"""Counting, checking and rebuilding what is on disk."""
