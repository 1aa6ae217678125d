"""How long what is stored is kept: uploads that nobody confirms, and contents that no row names."""
