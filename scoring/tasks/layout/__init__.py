"""Person layout: heads, hands and feet of given persons."""
