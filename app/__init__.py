"""The web application, and everything that writes to the database."""
