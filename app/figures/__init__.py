"""Figures of boards and of published tables, with their numbers, for pages and downloads."""
