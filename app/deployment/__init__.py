"""Whether an installation is set up as its documents ask."""
