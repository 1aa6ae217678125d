"""What organisers do: imports, phase settings, disclosure, teams, re-scoring, organiser roles, and the audit log."""
