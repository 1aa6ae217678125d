"""Readers of data sets and result files."""
