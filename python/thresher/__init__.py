# SPDX-License-Identifier: Apache-2.0
"""Exact and fast products with NVFP4 weights, numpy in and out.

    import numpy as np, thresher
    engine = thresher.Engine()                                # or "gpu", "emulator"
    weights = engine.pack(thresher.quantize(w))               # once per model
    c = engine.gemm(x.astype(np.float16), weights)

thresher.torch has the same as operators of PyTorch. docs/python.md has the rest.
"""
from ._arrays import from_bf16, to_bf16
from ._c import Error, InternalError, NoMemory, __version__
from .checkpoint import Checkpoint
from .engine import Buffer, Engine, Factors, Plan, Weights
from .moe import Expert, MoeLayer, route
from .nvfp4 import Matrix, quantize

__all__ = ["Buffer", "Checkpoint", "Engine", "Error", "Expert", "Factors", "InternalError", "Matrix", "MoeLayer",
           "NoMemory", "Plan", "Weights", "__version__", "from_bf16", "quantize", "route", "to_bf16"]
