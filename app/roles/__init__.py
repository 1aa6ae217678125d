"""Who is an admin, and who organises which edition."""
