"""Attacks that must not succeed."""
