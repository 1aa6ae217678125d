"""Confidence intervals of scores, computed after the scores are published."""
