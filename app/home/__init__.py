"""The front page, search, and the pages of challenges and competitions."""
