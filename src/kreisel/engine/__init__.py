"""Compiled loops that know neither model nor method: linear equations, Newton's iteration, time stepping."""
