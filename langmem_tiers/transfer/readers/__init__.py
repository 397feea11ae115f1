"""One module for each memory or program whose files can be imported: each gives records, and knows no other."""
