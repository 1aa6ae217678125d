"""What organisers decide about teams."""
