"""The images of a phase: thumbnails, a viewer with annotation and predictions, lists of notable images.

`making` and `overlays` are for workers, which read image files and ground truth. The other modules show the output on pages.
Other packages use `making.import_images`, `overlays.request`, and `candidates` and access rules from `pictures`.
"""
