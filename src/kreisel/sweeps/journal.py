"""What is done is written down: a sweep that was stopped, or killed, goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kreisel.sweeps.design import Columns

Answer = dict[str, Any]


class Journal:
    """A directory with the description of a sweep, ``sweep.json``, and the answers so far, ``points.jsonl``: a line per point, only ever
    appended, numbers to the last bit. A line that a kill cut off is dropped. One process at a time writes.

    >>> import tempfile
    >>> where = tempfile.mkdtemp()
    >>> with Journal(where, {"design": 1}) as journal:
    ...     journal.add([0, 7], {"status": ["REACHED_END", "REFUSED"], "energy_end": [0.1, None]})
    >>> with Journal(where, {"design": 1}) as journal:
    ...     journal.done
    {0: {'status': 'REACHED_END', 'energy_end': 0.1}, 7: {'status': 'REFUSED'}}
    """

    def __init__(self, path: str | os.PathLike[str], description: dict[str, Any]) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.path / "lock")
        try:
            self._describe(json.loads(json.dumps(description)))
            self.done = self._read()
            self._file = open(self.path / "points.jsonl", "ab")  # noqa: SIM115 - closed by close()
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._lock.close()

    def add(self, numbers: Sequence[int], answers: Columns) -> None:
        """Appends the answers of some points, without what they do not have; they are on disk when this returns."""
        rows = zip(*answers.values(), strict=True)
        each = ({name: v for name, v in zip(answers, row, strict=True) if v is not None} for row in rows)
        self._file.write("".join(json.dumps([i, answer]) + "\n" for i, answer in zip(numbers, each, strict=True)).encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def _describe(self, description: dict[str, Any]) -> None:
        file = self.path / "sweep.json"
        if not file.exists():
            new = file.with_suffix(".new")
            new.write_text(json.dumps(description, indent=1))
            new.replace(file)
            return
        old = json.loads(file.read_text())
        changed = sorted(k for k in {*old, *description} if old.get(k) != description.get(k))
        if changed:
            raise ValueError(
                f"'{self.path}' holds another sweep, with another {', '.join(changed)}; its points are kept: give another directory, "
                "or remove this one"
            )

    def _read(self) -> dict[int, Answer]:
        file = self.path / "points.jsonl"
        if not file.exists():
            return {}
        text = file.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            with open(file, "r+b") as f:
                f.truncate(len(whole))
        done: dict[int, Answer] = {}
        for line in whole.splitlines():
            number, answer = json.loads(line)
            done[number] = answer
        return done


def _locked(path: Path) -> Any:
    """An open file that no other process has locked. The lock goes with the process."""
    file = open(path, "w")  # noqa: SIM115 - stays open as long as the journal
    try:
        import fcntl
    except ImportError:  # not on this platform
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ValueError(f"another process works on the sweep in '{path.parent}'") from None
    return file
