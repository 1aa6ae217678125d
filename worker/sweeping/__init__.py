"""The sweeper as a process."""
