"""Views, stacks of Views, and symbolic integers."""
