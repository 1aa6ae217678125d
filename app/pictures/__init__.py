"""The pictures of a phase: where they come from, what is made of them, who sees them."""
