"""Long-term knowledge: entries with what they rest on, corrections, merging, and the way in for mining."""
