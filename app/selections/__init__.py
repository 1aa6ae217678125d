"""What addresses ask of boards."""
