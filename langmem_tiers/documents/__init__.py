"""Documents: notes as in an agent's folder. Markdown is searched, other files are kept."""
