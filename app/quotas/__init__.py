"""How many results of a task a team and a person may have scored, and what is left of it."""
