"""Images to look at first: what results are right and wrong about, and what methods find easy and hard."""
