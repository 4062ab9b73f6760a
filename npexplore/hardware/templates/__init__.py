"""Templates of hardware in one shape, so that they nest: streams, groups of members, memory channels (Gorilla, Sec. 3).

streams    the parts: valve, queue, balancer, arbiter, reorder queue
group      members behind a load balancer, with arbiters to their ports: engines in a cluster, clusters in a lane
channels   the ports of all lanes to the channels of a memory, and the answers back
pipeline   a step program as stages, where an engine may stand
memory     ports that share a memory of another clock
tables     a hashed label table, flow counters
inside     label tables and flow counters between a module's ports and what is around it
frames     header and body apart and together again, checksums
bodies     whole frames around a processor: bodies split off, and joined again to headers that leave
frame_bench    a test bench for such a processor
bench      a test bench for any of them
"""
