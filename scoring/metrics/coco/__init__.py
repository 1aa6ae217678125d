"""Average precision and recall of COCO, as pure functions of arrays."""
