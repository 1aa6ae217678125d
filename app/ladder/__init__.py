"""The ladder: a new mean is shown only where it beats the team's best by a standard error."""
