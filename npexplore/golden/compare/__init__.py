"""Compares two routers' outputs, except fields that may differ; reports the first difference with its clause."""
