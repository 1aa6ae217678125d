"""What becomes of a confirmed entry: shown to everybody, or withdrawn."""
