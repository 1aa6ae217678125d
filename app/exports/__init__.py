"""Tables as CSV and LaTeX, and citations as BibTeX."""
