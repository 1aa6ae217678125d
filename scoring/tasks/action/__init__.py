"""Action classification: one confidence per person, one file per action."""
