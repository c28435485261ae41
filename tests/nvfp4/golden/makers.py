#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rounds small matrices with the makers' own programs, for golden_test.cpp.

    pip install compressed-tensors nvidia-modelopt
    tests/nvfp4/golden/makers.py > tests/nvfp4/golden/makers.json

Matrices are 8 x 32 in three types: natural values, ones that lie on midpoints of the codes, blocks of zeros, blocks far
below the largest value, and negative zeros. Everything is written as the bytes that a checkpoint would have.
"""
import importlib.metadata
import json

import torch
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor

ROWS, COLUMNS, BLOCK = 8, 32, 16


def matrix(dtype):
    generator = torch.Generator().manual_seed(7)
    values = torch.randn(ROWS, COLUMNS, generator=generator) * 0.3
    values[1] *= 0.01
    values[2, :BLOCK] = 0
    values[3] = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6] * 4) * torch.tensor([1.0, -1.0] * 16) / 8
    values[4, ::3] = -0.0
    values[5] *= 1e-5
    values[6, 7] = 2.5
    return values.to(dtype)


def hexed(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes().hex()


def compressed_tensors(values):
    args = QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=BLOCK, symmetric=True,
                            dynamic=False, scale_dtype=torch.float8_e4m3fn)
    reciprocal = generate_gparam(values.min(), values.max())
    blocks = values.reshape(ROWS, -1, BLOCK)
    scales, _ = calculate_qparams(blocks.amin(-1), blocks.amax(-1), args, reciprocal)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    done = NVFP4PackedCompressor.compress(
        {"weight": values, "weight_scale": scales, "weight_global_scale": reciprocal}, scheme)
    return done["weight_packed"], done["weight_scale"], done["weight_global_scale"]


def modelopt(values):
    packed, scales, scale = NVFP4QTensor.quantize(values.clone(), BLOCK)
    return packed._quantized_data, scales, scale


def main():
    cases = []
    for name, dtype in (("BF16", torch.bfloat16), ("F16", torch.float16), ("F32", torch.float32)):
        values = matrix(dtype)
        makers = {}
        for maker, quantize in (("compressed-tensors", compressed_tensors), ("modelopt", modelopt)):
            codes, scales, scale = quantize(values)
            makers[maker] = {"codes": hexed(codes), "scales": hexed(scales.to(torch.float8_e4m3fn)),
                             "global_scale": hexed(scale.to(torch.float32).reshape(1))}
        cases.append({"dtype": name, "rows": ROWS, "k_elements": COLUMNS, "values": hexed(values), "makers": makers})
    versions = {maker: importlib.metadata.version(maker) for maker in ("compressed-tensors", "nvidia-modelopt", "torch")}
    print(json.dumps({"versions": versions, "cases": cases}, indent=1))


if __name__ == "__main__":
    main()
