"""The tasks of a challenge, each as a row of functions."""
