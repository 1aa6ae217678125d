"""Results: recorded in one place, and read through the disclosure policy of their phase.

Others read scores through this package only. Pages of submissions, methods and personal data are here because they show results.
"""
