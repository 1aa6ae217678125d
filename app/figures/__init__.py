"""Figures of boards, with their numbers, for pages and downloads."""
