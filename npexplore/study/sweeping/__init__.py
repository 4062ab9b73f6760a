"""Many points: choosing them, answering them in parallel on any executor, and keeping them in a resumable store."""
