"""One machine on one workload: what binds, what would help, beside other machines."""
