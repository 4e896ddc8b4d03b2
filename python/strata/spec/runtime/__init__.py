"""Memory, and programs that run on it."""
