"""Names of the arrays that functions take and return."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Reals = NDArray[Any]
"""Of either precision."""
Indices = NDArray[np.int64]
Integers = NDArray[np.int32]
Flags = NDArray[np.bool_]
