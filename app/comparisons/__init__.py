"""Comparing a few methods of a board: paired differences, curves over each other, errors side by side."""
