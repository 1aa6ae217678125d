"""How long archives are kept, and their removal."""
