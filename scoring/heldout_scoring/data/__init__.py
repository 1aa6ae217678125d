"""Typed arrays that everything else works on: predictions and ground truth."""
