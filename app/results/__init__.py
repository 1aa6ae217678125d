"""Results: recorded in one place, and read through the disclosure policy of their phase.

Other packages read scores only through this one. The pages of submissions and personal data are here because they show
results.
"""
