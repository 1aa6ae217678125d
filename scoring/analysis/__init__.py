"""Analyses of matched predictions: nothing is matched or scored again, except at another threshold.

They take ranked predictions (`scoring.data.matches`) and the ground truth; where they need boxes, the ranked
predictions are joined with the detections of the archive (`ranked_detections`).
"""
