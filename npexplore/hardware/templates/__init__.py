"""Hardware templates with a common interface, so that they nest: groups of members, memory channels (Gorilla, Sec. 3).

streams    basic parts: valve, queue, balancer, arbiter, reorder queue
group      members behind a load balancer, with arbiters for their ports: engines in a cluster, clusters in a lane
channels   connections from the ports of all lanes to the channels of a memory, and back
pipeline   a step program as pipeline stages, in place of an engine
memory     ports that share a memory with a clock of its own
tables     a hashed label table, flow counters
inside     label tables, flow counters and integrity units between a module's ports and its surroundings
frames     splitting frames into header and body and recombining them; checksums
bodies     whole frames around a processor: bodies are split off and recombined with headers that leave
frame_bench    a test bench for such a processor
bench      a test bench for all other templates
"""
