"""What workers make for pages to show: figures, thumbnails, tables."""
