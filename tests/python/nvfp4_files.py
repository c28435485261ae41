# SPDX-License-Identifier: Apache-2.0
"""Writes a saved model again with NVFP4 weights, as ModelOpt or compressed-tensors do, and its dequantised twin.

Written from the formats' descriptions, apart from the library's own writer, so that both readers and writers have
somebody to disagree with.
"""
import json
import pathlib
import re
import shutil

import numpy as np
import torch
from safetensors.torch import load_file, save_file

import thresher

EXPERT = re.compile(r"experts\.\d+\.(gate_proj|up_proj|down_proj|w1|w2|w3)\.weight$")
STACK = re.compile(r"experts\.(gate_up_proj|down_proj)$")
CONFIGS = {
    "modelopt": {"quant_method": "modelopt", "quant_algo": "NVFP4", "producer": {"name": "modelopt"},
                 "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16},
                                               "targets": ["Linear"]}}},
    "compressed-tensors": {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
                           "quantization_status": "compressed",
                           "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
                               "num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16,
                               "symmetric": True, "dynamic": False}}}}}


def write_nvfp4(source, target, twin, form, linears=r"$.^"):
    """`source`: what save_pretrained wrote. `linears`: names of further weights to quantise; the rest is copied."""
    source, target, twin = (pathlib.Path(folder) for folder in (source, target, twin))
    tensors = {}
    for file in sorted(source.glob("*.safetensors")):
        tensors.update(load_file(file))
    quantized, dequantized = {}, {}
    for name, tensor in tensors.items():
        if STACK.search(name):
            quantized.update(_stack(name, tensor, dequantized))
        elif EXPERT.search(name) or re.search(linears, name):
            quantized.update(_matrix(name.removesuffix(".weight"), tensor, form, dequantized))
        else:
            quantized[name] = dequantized[name] = tensor
    more = {"quantization_config": CONFIGS[form]}
    for folder, content, extra in ((target, quantized, more), (twin, dequantized, {})):
        folder.mkdir()
        for file in source.iterdir():
            if file.suffix == ".json" and "index" not in file.name:
                shutil.copy(file, folder)
        save_file({name: tensor.contiguous() for name, tensor in content.items()}, folder / "model.safetensors",
                  metadata={"format": "pt"})
        config = json.loads((source / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **extra}))


def _tensors(matrix):
    return (torch.from_numpy(matrix.codes.copy()), torch.from_numpy(matrix.scales.copy()).view(torch.float8_e4m3fn))


def _matrix(module, weight, form, dequantized):
    matrix = thresher.quantize(weight.float().numpy())
    codes, scales = _tensors(matrix)
    largest = 64 if module.endswith(("down_proj", "w2")) else 6  # of the inputs, as a calibration might have found it
    if form == "modelopt":
        stored = {"weight": codes, "weight_scale": scales, "weight_scale_2": torch.tensor(matrix.global_scale),
                  "input_scale": torch.tensor(largest / 2688)}
        global_scale = np.float32(matrix.global_scale)
    else:
        inverse = np.float32(1) / np.float32(matrix.global_scale)
        stored = {"weight_packed": codes, "weight_scale": scales, "weight_global_scale": torch.tensor([inverse])}
        global_scale = np.float32(1) / inverse
    values = thresher.Matrix(matrix.codes, matrix.scales, float(global_scale)).dequantize()
    dequantized[f"{module}.weight"] = torch.from_numpy(values)
    return {f"{module}.{leaf}": tensor for leaf, tensor in stored.items()}


def _stack(name, weight, dequantized):
    """ModelOpt's stacked experts [E, K, N]: K packed along the second dimension, one global scale for all."""
    experts, k, n = weight.shape
    rows = weight.float().transpose(1, 2).reshape(experts * n, k).contiguous()
    matrix = thresher.quantize(rows.numpy())
    codes, scales = _tensors(matrix)
    dequantized[name] = torch.from_numpy(matrix.dequantize()).view(experts, n, k).transpose(1, 2)
    return {name: codes.view(experts, n, k // 2).transpose(1, 2),
            f"{name}_weight_scale": scales.view(experts, n, k // 16).transpose(1, 2),
            f"{name}_weight_scale_2": torch.tensor(matrix.global_scale),
            f"{name}_input_scale": torch.tensor(1 / 448)}
