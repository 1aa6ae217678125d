"""What is analysed of a scored run: kinds of errors, sweeps, and what comparisons are made from."""
