"""Detection as COCO scores it, with boxes or with masks."""
