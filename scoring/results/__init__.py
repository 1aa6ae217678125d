"""Which files of an archive are results, and what to say of the others."""
