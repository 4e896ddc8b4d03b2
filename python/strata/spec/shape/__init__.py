"""Views and symbolic integers."""
