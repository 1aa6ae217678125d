"""The work loads, made from seeds: the same everywhere, nothing is downloaded."""
