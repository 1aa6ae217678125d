"""The forms of results, each with its grammar: lines, label images, layouts; from bytes to arrays."""
