"""Groups of methods of a board that cannot be told apart."""
