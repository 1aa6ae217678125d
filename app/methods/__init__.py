"""Methods: what teams enter, as boards show it."""
