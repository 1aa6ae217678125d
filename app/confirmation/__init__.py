"""E-mail addresses: proving that one is one's own, and changing it."""
