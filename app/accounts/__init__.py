"""People: registration, login, tokens."""
