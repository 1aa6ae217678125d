"""Annotation and predictions as they are drawn over pictures, made by workers."""
