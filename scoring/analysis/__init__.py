"""Questions asked of a result after it was scored; nothing here scores twice.

Each works from the answers and verdicts that were kept (`scoring.saved_matches`) and the ground truth. Where a
question is about boxes, these come from the archive: the kept ranking says which line each answer is on
(`place_detections`).
"""
