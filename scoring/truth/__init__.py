"""What there is to find, and the readers of every form in which annotation comes."""
