"""API tokens: with them programs act for people."""
