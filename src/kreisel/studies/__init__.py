"""Measurements and reproductions of published experiments."""
