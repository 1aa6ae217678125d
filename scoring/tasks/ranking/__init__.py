"""Rankings of labelled images or persons: shared by classification and action classification."""
