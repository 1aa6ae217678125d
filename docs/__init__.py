"""Builds the documentation of the scoring library from its docstrings and protocol rows: `make docs`."""
