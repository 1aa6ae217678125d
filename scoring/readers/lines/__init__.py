"""Readers of text files with one prediction a line."""
