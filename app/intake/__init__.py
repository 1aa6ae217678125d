"""Data sets that organisers send in the browser: received encrypted, read by workers, applied as phases and ground truth.

The web process encrypts what arrives (`receiving`, `segments`) for a key that only workers have (`keys`). Others use
`importing.import_tree`, which loads a folder, and the views in `intakes`.
"""
