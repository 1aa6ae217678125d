"""Leaderboards with their history and ranking, comparisons of methods, and team pages."""
