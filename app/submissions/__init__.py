"""Uploads, their checks, and submissions."""
