"""Records, change log, keyword index, vectors and cursors of one space."""
