#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a checkpoint to tokens: generate.py [cpu|cuda]

A tiny random mixture-of-experts model is made and saved, its experts are rounded to NVFP4 by `thresher quantize`, plain
from_pretrained loads what that wrote, and it generates. Needs thresher, torch and transformers; nothing is downloaded.
"""
import pathlib
import subprocess
import sys
import tempfile

import torch
from transformers import AutoModelForCausalLM, Qwen3MoeConfig

import thresher.transformers  # this is all that from_pretrained needs


def tiny_config():
    return Qwen3MoeConfig(vocab_size=512, hidden_size=256, intermediate_size=256, moe_intermediate_size=128,
                          num_experts=16, num_experts_per_tok=4, num_hidden_layers=4, num_attention_heads=4,
                          num_key_value_heads=2, head_dim=64, max_position_embeddings=512, bos_token_id=1,
                          eos_token_id=2, pad_token_id=0)


def quantize(source, target):
    subprocess.run([sys.executable, "-m", "thresher", "quantize", source, target, "--format", "compressed-tensors"],
                   check=True)


def main(device):
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        AutoModelForCausalLM.from_config(tiny_config(), dtype=torch.float32).save_pretrained(folder / "fp32")
        quantize(folder / "fp32", folder / "nvfp4")
        model = AutoModelForCausalLM.from_pretrained(folder / "nvfp4", dtype=torch.float32).to(device)
        print(model.model.layers[0].mlp.experts)
        prompt = torch.tensor([[1, 17, 42, 99]], device=device)
        tokens = model.generate(prompt, max_new_tokens=16, do_sample=False)
        print(f"{device}: {tokens[0].tolist()}")
    return 0 if tokens.shape == (1, 20) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["cuda" if torch.cuda.is_available() else "cpu"]))
