"""Archives of results: safe reading, names, limits, PNG and XML hardening."""
