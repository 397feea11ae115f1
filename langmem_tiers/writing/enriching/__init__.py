"""Enriching: what was saved in a hurry is cleaned, split into single facts and filed by a model, in the background."""
