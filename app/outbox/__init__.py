"""Messages about what has to follow from a change, written in its transaction."""
