"""Copies of a whole installation, and installations made of them."""
