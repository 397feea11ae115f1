"""Trust: secrets stay out, instructions in stored text are recognised, and derived data is never trusted more."""
