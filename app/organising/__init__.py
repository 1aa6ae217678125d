"""What an organiser decides: phases, disclosure, teams, re-scoring, imports, organisers; and the audit that shows it."""
