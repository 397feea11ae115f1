"""A benchmark from the official file to accuracy: download, ingest, retrieve, answer with a reader, judge."""
