"""The archive: a summary of each session and task, kept for a while or for ever, and searched when history is asked."""
