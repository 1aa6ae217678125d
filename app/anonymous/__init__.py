"""Results that reviewers read without learning whose they are."""
