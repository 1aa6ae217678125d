"""Matching, ranking, PR and ROC curves, confusion matrices and averages: pure functions of arrays."""
