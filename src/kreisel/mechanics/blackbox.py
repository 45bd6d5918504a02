"""Forces that are no formulas: plain Python or Numba functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from kreisel.mechanics.element import Element

_ROUTINE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class BlackBox(Element):
    """A force on one body by a plain function (t, q, v) -> generalised force, on arrays: tables, measured data, other programs.

    q and v are the coordinates and velocities of the body in its group, the answer is dual to v. A Python function costs some
    microseconds per call; one compiled with ``numba.njit`` next to nothing. Newton's matrix does not know its derivative, so convergence
    is linear: good for forces that are soft on the scale of a step. It rules out what needs formulas: derivatives of steps and optimal
    control, and, with Python functions, parallel threads.

    >>> BlackBox("wind", "kite", lambda t, q, v: np.array([0, 0, 0, 5.0, 0, 0]))
    BlackBox 'wind'
    """

    def __init__(self, name: str, body: str, function: Callable[[float, Any, Any], Any]) -> None:
        super().__init__(name, body)
        self.function = function
        #: The last exception the function raised.
        self.error: Exception | None = None
        self._keep: list[Any] = []

    def signature(self) -> Any:
        return type(self), id(self.function)

    @property
    def compiled(self) -> bool:
        """Whether the function is Numba's, and so needs no interpreter."""
        return hasattr(self.function, "py_func")

    def routine(self, n_params: int, dim: int) -> int:
        """Address of ``void f(double *in, double *out)``, in = t, q, v."""
        if self.compiled:
            from numba import carray, cfunc, types

            function, n = self.function, 1 + n_params + dim
            pointer = types.CPointer(types.float64)

            @cfunc(types.void(pointer, pointer))  # type: ignore[untyped-decorator]
            def call(source: Any, target: Any) -> None:
                x = carray(source, n)
                y = carray(target, dim)
                y[:] = function(x[0], x[1 : 1 + n_params], x[1 + n_params :])

            self._keep.append(call)
            return int(call.address)

        def run(source: int, target: int) -> None:
            x = np.ctypeslib.as_array((ctypes.c_double * (1 + n_params + dim)).from_address(source)).copy()
            y = np.ctypeslib.as_array((ctypes.c_double * dim).from_address(target))
            try:
                y[:] = self.function(float(x[0]), x[1 : 1 + n_params], x[1 + n_params :])
            except Exception as error:  # an exception cannot pass through compiled code: it is kept and told afterwards
                self.error = error
                y[:] = np.nan

        self._keep.append(_ROUTINE(run))
        return int(ctypes.cast(self._keep[-1], ctypes.c_void_p).value or 0)
