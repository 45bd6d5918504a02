"""Symbols to machine code: a thin layer over CasADi and LLVM.

Formulas are written once with CasADi's scalar expressions (``SX``). CasADi differentiates them; this layer
turns them into machine code, with no compiler on the user's machine and a cache on disk.
"""

from kreisel.symbolic.cache import CacheWarning
from kreisel.symbolic.kernel import ArrayFunction, Kernel, compile
from kreisel.symbolic.translate import UnsupportedOperation

__all__ = ["ArrayFunction", "CacheWarning", "Kernel", "UnsupportedOperation", "compile"]
