"""Classification: one confidence per image, one file per class."""
