"""How sure a score is, and whether methods differ: the bootstrap, and tests of ranks."""
