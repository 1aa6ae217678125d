"""The documentation of the API, as a page."""
