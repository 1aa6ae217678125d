"""Charts as geometry: pure functions from numbers to shapes, which a template writes as SVG."""
