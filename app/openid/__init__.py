"""Logging in by an OpenID Connect provider."""
