"""Challenges, their phases, competitions, terms, what a phase discloses, and example archives.

Others use `challenges` for phases and `disclosure` for what a reader may see of a score.
"""
