"""Working memory: scratch space with a time to live, shared by sessions, patrols and subagents."""
