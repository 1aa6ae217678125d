"""How fast the scorer is: seeded work loads, programs to compare with, and a table of ratios."""
