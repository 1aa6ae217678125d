"""The pages of a phase's pictures."""
