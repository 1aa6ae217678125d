"""A result in detail: curves of chosen classes, further tables, and the analysis."""
