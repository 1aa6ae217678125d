"""Backups of a whole installation, and installations restored from them."""
