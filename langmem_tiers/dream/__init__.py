"""The dream: consolidation of a space, proposed by a model or by rules, judged by a pure function, applied at once."""
