"""Machines described in TOML alone: resources as tables, programs as the lines that a Python function would have."""
