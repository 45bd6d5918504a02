"""Names that users give: which there are, and which may have been meant."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def parameters_of(function: Any) -> dict[str, Any]:
    """The parameters of a model or method and their defaults."""
    return {p.name: None if p.default is p.empty else p.default for p in inspect.signature(function).parameters.values()}


def check_names(names: Iterable[str], known: Iterable[str], complaint: str) -> None:
    """Refuses names that are not known, and says which are."""
    known = list(known)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise ValueError(f"{complaint} '{name}'{hint}; there are: {', '.join(known) or 'none'}")
