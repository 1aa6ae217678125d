"""From an upload to a submission: receiving and checking archives, methods, quotas, acceptance, retention.

Nothing here knows a score; a submission with its scores is shown by `results`.
"""
