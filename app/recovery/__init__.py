"""Choosing a new password, with the present one or by a mailed link, and logging in by a mailed link."""
