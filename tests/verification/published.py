"""Printed numbers and what they claim."""

from decimal import Decimal


def agrees(value, text):
    """Whether a number, rounded to the digits of the printed text, is the text."""
    return abs(value - float(text)) <= 0.5 * 10.0 ** Decimal(text).as_tuple().exponent * (1 + 1e-9)


def check(values, texts):
    """All of them, with both in the message."""
    values, texts = list(values), texts.split() if isinstance(texts, str) else list(texts)
    assert len(values) == len(texts)
    wrong = [(value, text) for value, text in zip(values, texts, strict=True) if not agrees(value, text)]
    assert not wrong, f"computed and printed: {wrong}"
