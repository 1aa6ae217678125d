"""Readers of the development kits' files."""
