"""Trust: secrets stay out, instructions in stored text are known for what they are, and origins never rise."""
