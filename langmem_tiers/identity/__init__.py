"""The identity: a short profile of the user in Markdown, always before the model."""
