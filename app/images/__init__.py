"""The images of a phase: thumbnails, a viewer with annotation and predictions, images to look at first.

`making` and `overlays` are the work of workers, which files and ground truth are read for; the other modules are what pages show
of it. Others use `making.take_along`, `overlays.request` and `pictures.representatives`.
"""
