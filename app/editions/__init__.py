"""Challenges: editions, phases, ground truth."""
