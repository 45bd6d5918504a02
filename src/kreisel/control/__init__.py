"""Optimal control: what is asked, its transcription by any method, and solvers."""
