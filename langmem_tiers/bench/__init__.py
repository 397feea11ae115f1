"""Measuring recall on public conversation sets: ask every question, log what came back, score the log."""
