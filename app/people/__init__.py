"""Accounts, login, second factor, login providers, tokens, teams, and invitations.

Other packages ask `teams` who is in which team. The page of a team with its results is in `boards`.
"""
