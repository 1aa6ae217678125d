"""The work of scoring workers: runs, confidence intervals, re-scoring and the search for similar methods."""
