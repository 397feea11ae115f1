"""Asking a chat model for an object: within a deadline and a budget, with every call booked."""
