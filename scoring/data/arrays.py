"""The types of arrays."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


Integers = NDArray[np.int32]


Places = NDArray[np.intp]


Flags = NDArray[np.bool_]


Labels = NDArray[np.int8]


Bytes = NDArray[np.uint8]
