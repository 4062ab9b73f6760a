"""Many points: which ones, asked side by side on any executor, kept in a store that survives being stopped."""
