"""From when which result stands on a board; rows that are only appended."""
