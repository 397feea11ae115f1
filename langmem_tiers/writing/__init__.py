"""Writing memories: tracking turns, mining them, enriching saved entries, and flushing before compaction."""
