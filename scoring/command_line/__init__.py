"""Scoring and checking as commands for programs: each prints one JSON object, and exits 0 or 2."""
