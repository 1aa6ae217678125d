"""Whether this installation works."""
