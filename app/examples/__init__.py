"""Archives that show what a result looks like, made from what participants may know."""
