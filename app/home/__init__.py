"""What there is to enter and to read: editions with their phases and leading methods."""
