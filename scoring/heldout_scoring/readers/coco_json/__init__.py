"""Annotation and results in COCO's JSON, as arrays for its evaluation."""
