"""Who may send results to an edition."""
