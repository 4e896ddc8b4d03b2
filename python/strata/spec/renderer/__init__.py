"""From lists of UOps to programs."""
