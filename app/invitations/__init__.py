"""Links that invite into teams."""
