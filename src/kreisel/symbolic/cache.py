"""Object code kept on disk, so that a function is compiled once per machine.

What lies in the cache is executed, therefore it is trusted only if nobody else can have put it there:
the directory must belong to the user and be writable by nobody else, a file must belong to
the user, and its content must match the checksum at its head. A file that fails is ignored and written
anew. Files appear under their final name only when complete, so any number of processes may
fill the cache at once.

The directory is ``$KREISEL_CACHE`` or the user's cache directory of the platform; ``KREISEL_CACHE=off``
keeps nothing. If the directory cannot be used, a warning says why, once, and every process compiles for itself.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import warnings
from pathlib import Path

import platformdirs

_DIGEST = hashlib.sha256
_refused: set[Path] = set()


class CacheWarning(UserWarning):
    """The cache directory cannot be used."""


def directory() -> Path | None:
    """The cache directory, made if needed; None if it is switched off or not safe to use."""
    setting = os.environ.get("KREISEL_CACHE", "")
    if setting == "off":
        return None
    path = Path(setting) if setting else platformdirs.user_cache_path("kreisel", appauthor=False)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = _untrusted(path.stat(), directory=True)
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        _refuse(path, problem)
        return None
    return path


def load(key: str) -> bytes | None:
    """The code stored under a key, or None if there is none that can be trusted."""
    folder = directory()
    if folder is None:
        return None
    try:
        descriptor = os.open(folder / key, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if _untrusted(os.fstat(file.fileno())):
            return None
        content = file.read()
    size = _DIGEST().digest_size
    code = content[size:]
    return code if _DIGEST(key.encode() + code).digest() == content[:size] else None


def store(key: str, code: bytes) -> None:
    """Keeps the code under the key; what stood there is replaced."""
    folder = directory()
    if folder is None:
        return
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(_DIGEST(key.encode() + code).digest() + code)
        os.replace(temporary, folder / key)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        _refuse(folder, error.strerror or str(error))


def _untrusted(status: os.stat_result, directory: bool = False) -> str:
    """Why a file or directory is not to be trusted; empty if it is."""
    if directory != stat.S_ISDIR(status.st_mode):
        return "it is not a directory" if directory else "it is not a file"
    if not hasattr(os, "getuid"):
        return ""  # Windows: the user's cache directory is private by its access list.
    if status.st_uid != os.getuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write to it"
    return ""


def _refuse(path: Path, problem: str) -> None:
    if path not in _refused:
        _refused.add(path)
        warnings.warn(f"compiled code is not kept: cannot use the cache directory {path}: {problem}", CacheWarning, stacklevel=3)
