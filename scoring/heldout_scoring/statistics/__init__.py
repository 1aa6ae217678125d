"""Bootstrap, confidence intervals, comparison and rank tests."""
