"""What admins do: people, and jobs that failed."""
