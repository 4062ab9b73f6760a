"""Machines described in TOML: resources as tables, programs as lines of Python or lists of steps."""
