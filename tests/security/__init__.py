"""What must not happen, whoever tries."""
