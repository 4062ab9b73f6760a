"""Whole captures through the router: read in order of time, counted, written port by port."""
