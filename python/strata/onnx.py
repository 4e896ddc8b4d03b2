"""Models in the ONNX format, as modules.

    model = strata.onnx.load("resnet18.onnx")
    y = model(x=image)
"""
from ._strata._onnx import Model as Model, load as load, operators as operators

__all__ = ["Model", "load", "operators"]
