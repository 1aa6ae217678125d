"""Scoring runs: claimed by workers, recorded, repeated by re-scoring, with intervals and similar methods."""
