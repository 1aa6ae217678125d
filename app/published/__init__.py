"""Historical editions: results as published, not scored here."""
