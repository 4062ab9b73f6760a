"""A table of each kind of resource, as a machine file has it: the keys that it needs, and some that it may have."""

from npexplore.machine.resources import KINDS

TABLES = {
    "processor": 'engines = 1\nclock_hz = 1e9',
    "server": 'service_s = { distribution = "erlang", mean = 1e-9, stages = 2 }',
    "accelerator": "interval_s = 1e-9\nlatency_s = 2e-9",
    "channel": "rate_hz = 1e9", "arbiter": "requesters = 4\ninterval_s = 1e-9", "reorder": "places = 8",
    "balancer": 'over = "other"\nmembers = 2', "delay": "", "memory": "word_bytes = 4\nword_s = 1e-9",
    "dram": 'timing = "ddr_200"\nbanks = 4\nbus_bytes_per_s = 1e9\noverhead_bytes = 0\nslots = 8\n'
    'options = { gating = "whole" }',
    "dram_controller": 'device = "ddr4_3200"\naddress_map = { order = "row bank column", row_bytes = 8192 }',
    "ddr": 'timing = "ddr_400"\nbanks = 4\nbus_bytes = 8\nslots = 4\naddress_map = { order = "row column bank" }',
    "pool": "count = 8", "queue": "capacity = 8",
    "banked_memory": "word_bytes = 8\nword_s = 1e-8\nbanks = 4", "policer": "rates_pps = [1e6]",
    "scheduled_queue": "capacity = 8\nweights = { high = 2, low = 1 }",
    "line_card": "bytes_per_s = 1e9\nbuffer_bytes = 2048",
    "mesh": "columns = 2\nrows = 2\nclock_hz = 1e9\nfifo_depth = 4",
    "streams": "columns = 2\nrows = 2\nclock_hz = 1e9\npaths = [[[0, 1]]]", "lock": "clock_hz = 1e9",
    "matrix": "ports = 4\nword_s = 1e-9",
}  # fmt: skip
assert TABLES.keys() == KINDS.keys(), f"in TABLES of this file or in KINDS alone: {TABLES.keys() ^ KINDS.keys()}"
