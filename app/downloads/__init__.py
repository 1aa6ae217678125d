"""Archives as they are stored, in ranges of bytes."""
