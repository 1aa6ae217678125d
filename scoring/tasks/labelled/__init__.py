"""What classification and action classification share: a ranking of labelled images or persons."""
