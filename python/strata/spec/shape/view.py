"""View: a shape with strides, an offset and a mask."""
from strata import View

__all__ = ["View"]
