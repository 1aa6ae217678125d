"""Accounts, login, second factor, login providers, tokens, teams and invitations.

Others ask `teams` who is in which team; a page of a team with its results is in `boards`.
"""
