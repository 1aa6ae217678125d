"""What organisers do beside importing."""
