"""What everything rests on: settings, the database, errors, permissions, the audit, logging."""
