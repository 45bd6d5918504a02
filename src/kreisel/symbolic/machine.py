"""LLVM IR text to machine code in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache as once
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from kreisel.symbolic import cache

# Code is never freed: an address handed out stays good until the process ends, whatever becomes of the
# Python objects around it.
_libraries: dict[str, llvm.ResourceTracker] = {}


@once
def _target() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )


@once
def _linker() -> llvm.LLJIT:
    return llvm.create_lljit_compiler(_target(), suppress_errors=True)


@once
def environment() -> bytes:
    """What object code depends on besides the function: compiler, processor, and this translation itself."""
    here = Path(__file__).parent
    parts = [llvmlite.__version__, *map(str, llvm.llvm_version_info), llvm.get_default_triple()]
    parts += [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    parts += [(here / name).read_text() for name in ("elementary.py", "translate.py", "machine.py")]
    return hashlib.sha256("\0".join(parts).encode()).digest()


def address(ir: Callable[[], str], content: bytes, entry: str) -> int:
    """Address of the entry point of a module.

    ``content`` identifies the module; ``ir()`` writes it and is called only if it was not compiled before,
    by this process or, as far as the cache on disk remembers, by any other.
    """
    key = hashlib.sha256(environment() + content).hexdigest()
    name = f"{key}.{entry}"
    if name not in _libraries:
        _target()  # The native target must be known to LLVM before anything else.
        code = cache.load(key)
        if code is None:
            code = _assemble(ir())
            cache.store(key, code)
        _libraries[name] = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(entry).link(_linker(), name)
    return int(_libraries[name][entry])


def available() -> bool:
    """Whether kernels are compiled; if not (``KREISEL_BACKEND=vm``), CasADi evaluates them."""
    backend = os.environ.get("KREISEL_BACKEND", "llvm")
    if backend not in ("llvm", "vm"):
        raise ValueError(f"KREISEL_BACKEND must be 'llvm' or 'vm', got '{backend}'")
    return backend == "llvm"


def _assemble(ir: str) -> bytes:
    module = llvm.parse_assembly(ir)
    module.verify()
    target = _target()
    module.triple = target.triple
    # Vectors hold instances side by side already; looking for more of them within an instance
    # multiplies the compile time and gains next to nothing.
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.slp_vectorization = False
    options.loop_vectorization = False
    passes = llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(module, passes)
    return bytes(target.emit_object(module))
