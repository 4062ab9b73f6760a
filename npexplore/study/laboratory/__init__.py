"""One resource alone: what each solver and exact theory say of it, closed and open, without a machine around it."""
