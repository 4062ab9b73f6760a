"""The event engine seen from above: a machine compiled to its arrays, run, watched, and its laws checked."""
