"""The second factor: codes of an authenticator app, and recovery codes."""
