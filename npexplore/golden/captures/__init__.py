"""Runs whole captures through the router: reads them in order of time, counts packets, writes a capture per port."""
