"""Pictures with annotation and predictions drawn over them, and images to look at first."""
