"""Which answers are right, and what that is worth: pure functions of arrays."""
