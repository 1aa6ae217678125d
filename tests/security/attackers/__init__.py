"""Attackers of hidden labels, as programs: what they recover under each disclosure with the quota of a year."""
