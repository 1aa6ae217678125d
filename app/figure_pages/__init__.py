"""The figures of boards as people and programs read them."""
