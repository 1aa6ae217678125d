"""Figures of boards and of published tables, with their data, for pages and for downloads."""
