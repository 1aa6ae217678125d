"""Scoring again in the shadow, and switching the boards all at once."""
