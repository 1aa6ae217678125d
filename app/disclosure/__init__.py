"""What readers see of the results of a phase."""
