"""Results that are so alike that two methods may be one: a hint to organisers."""
