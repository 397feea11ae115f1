"""Signals: what speaks for a drawer being what a query asks for, one module each, all between 0 and 1."""
