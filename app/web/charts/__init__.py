"""Chart geometry: pure functions from numbers to shapes, which a template renders as SVG."""
