"""The words in which machines are described: resources, programs, workloads, and what they demand."""
