"""Leaderboards, their history and ranking, comparisons of methods, and the pages of teams."""
