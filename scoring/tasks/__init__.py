"""The tasks of a challenge, each as four functions."""
