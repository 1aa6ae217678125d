"""How an installation does, for a monitoring server."""
