"""Bytes on their way in, and what their check says."""
