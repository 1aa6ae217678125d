"""What a visitor enters by: the front page, challenges with their phases and leading methods, and search."""
