"""What organisers do apart from importing."""
