"""Fingerprints of results: equal where the predictions are, however they are written and packed.

A fingerprint is made while an archive is checked, from what its files say and not from their bytes. The archive's format,
compression and folders, the order of its files, line ends, blanks and the spelling of numbers (0.50 and 0.5, 0.0 and -0.0) do not
count, nor does the order of lines where it cannot change a score:

- classification and actions: in any order, because the images and persons decide that of equal confidences;
- detection: in any order as long as boxes of equal confidence keep theirs, which decides their rank;
- COCO: in any order as long as detections of equal confidence in one image keep theirs;
- layout: in the order of the file, by which the program of VOC2008 ranks;
- segmentation: the label of each pixel, not the palette, nor how the PNG is written.

Different fingerprints do not say that scores differ: confidences that were all doubled have another one.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fingerprint(task: str, digests: Mapping[str, str]) -> str:
    """The fingerprint of the results of a task, 64 hexadecimal digits, from the digest of each class, action or image.

    >>> fingerprint("detection", {"cat": "01", "dog": "02"}) == fingerprint("detection", {"dog": "02", "cat": "01"})
    True
    """
    parts = [task, *(f"{key} {digests[key]}" for key in sorted(digests))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def digest_of(*columns: NDArray[Any]) -> str:
    """The SHA-256 of the values and shapes of arrays, in hexadecimal: whole numbers, or finite ones of floating point.

    >>> digest_of(np.array([0.0, 1.0])) == digest_of(np.array([-0.0, 1.0], np.float32))
    True
    """
    digest = hashlib.sha256()
    for column in columns:
        digest.update(f"{column.shape}".encode())
        if column.dtype == np.uint8:
            digest.update(np.ascontiguousarray(column).data)  # label images as they are, which are large
        elif column.dtype.kind == "f":
            digest.update((np.ascontiguousarray(column, np.float64) + 0.0).data)  # -0.0 becomes 0.0
        else:
            digest.update(np.ascontiguousarray(column, np.int64).data)
    return digest.hexdigest()
