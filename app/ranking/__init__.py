"""Ranks and other figures over the classes of a table of scores."""
