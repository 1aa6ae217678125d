"""The base of all packages: settings, database, errors, permissions, audit log, logging."""
