"""A network processor whose microengines run XDP programs."""
