"""Runs: claiming, scoring, recording, sweeping, scoring again."""
