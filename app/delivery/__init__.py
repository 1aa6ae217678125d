"""Delivering what stands in the outbox: at least once, with retries, and without one message blocking others."""
