"""Detection: boxes with confidences, one file per class."""
