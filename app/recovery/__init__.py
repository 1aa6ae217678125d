"""Choosing a new password: with the present one, or by a link in a mail."""
