"""What stands beside the rows of a board: groups and summary figures."""
