"""The pieces of a report that pages show."""
