"""Scored runs with the statistics that are kept of them."""
