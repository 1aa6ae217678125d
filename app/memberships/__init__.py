"""Who is in which team of an edition."""
