"""From graphs to kernels."""
