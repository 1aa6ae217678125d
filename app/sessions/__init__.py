"""Sessions: who is logged in, where, and until when."""
