"""From an upload to a submission: receiving and checking archives, methods, quotas, acceptance, retention.

Nothing here reads scores. The `results` package shows a submission with its scores.
"""
