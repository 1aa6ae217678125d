"""Passwords: which are accepted, and how they are kept."""
