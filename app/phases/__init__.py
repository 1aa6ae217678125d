"""Dates and quotas of phases: what organisers change, and calendars."""
