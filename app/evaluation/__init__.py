"""Runs: claiming, scoring, recording, sweeping."""
