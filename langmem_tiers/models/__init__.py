"""Models and what they cost: embedders, chat models, rerankers, tokens, and records of their usage."""
