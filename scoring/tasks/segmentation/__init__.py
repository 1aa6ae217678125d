"""Segmentation: a class for each pixel, one label image per image."""
