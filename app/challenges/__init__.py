"""Challenges, their phases, competitions and terms, the disclosure of scores, and example archives.

Other packages use `challenges` for phases and `disclosure` for what a reader may see of a score.
"""
