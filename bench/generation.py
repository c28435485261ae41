#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A random Qwen3-MoE with bf16 experts against the same with NVFP4 ones: memory, prefill and decode tokens per second.

    generation.py [--device cuda] [--layers 12] [--hidden 2048] [--intermediate 768] [--experts 128] [--prompt 4096]

Prints one line of JSON per kind of experts, which results/tables.py makes docs/python.md's table of. Weights are random
and shapes real (Qwen3-30B-A3B's, with fewer layers), so speeds mean something and words do not. Decoding is timed as
users call it, by generate(), and with a static cache, for which transformers compiles the model and replays CUDA graphs.
"""
import argparse
import gc
import json
import sys
import time

import torch
import transformers
from transformers import AutoModelForCausalLM, Qwen3MoeConfig

import thresher.transformers as door


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, value in (("layers", 12), ("hidden", 2048), ("intermediate", 768), ("experts", 128), ("top_k", 8),
                        ("prompt", 4096), ("new_tokens", 128), ("repeats", 5)):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--eager", action="store_true", help="leave the static cache and its graphs out")
    return parser.parse_args()


BEGIN = time.monotonic()


def say(what):
    print(f"{time.monotonic() - BEGIN:6.1f} s: {what}", file=sys.stderr, flush=True)


def random_model(options):
    say(f"making a model of {options.layers} layers")
    torch.manual_seed(0)
    config = Qwen3MoeConfig(
        vocab_size=32768, hidden_size=options.hidden, intermediate_size=options.intermediate,
        moe_intermediate_size=options.intermediate, num_experts=options.experts, num_experts_per_tok=options.top_k,
        num_hidden_layers=options.layers, num_attention_heads=options.hidden // 64, num_key_value_heads=4, head_dim=128,
        norm_topk_prob=True, max_position_embeddings=2 * options.prompt, bos_token_id=1, eos_token_id=None,
        pad_token_id=0)
    with torch.device(options.device):
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()


def synchronize(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def used_gb(device):
    """What the whole process, torch and the library, has taken of the device's memory."""
    if not device.startswith("cuda"):
        return None
    gc.collect()
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    return round((total - free) / 1e9, 2)


def best_seconds(call, options):
    call()
    times = []
    for _ in range(options.repeats):
        synchronize(options.device)
        start = time.perf_counter()
        call()
        synchronize(options.device)
        times.append(time.perf_counter() - start)
    return min(times)


def decode_rate(model, options, batch, **more):
    """New tokens per second of all rows together, prefill of a short prompt included."""
    prompt = torch.randint(3, 32768, (batch, 16), device=options.device)
    call = dict(max_new_tokens=options.new_tokens, min_new_tokens=options.new_tokens, do_sample=False, **more)
    return round(batch * options.new_tokens / best_seconds(lambda: model.generate(prompt, **call), options), 1)


def measure(model, kind, options):
    say(f"{kind} experts: prefill")
    row = {"experts": kind, "memory_gb": used_gb(options.device)}
    prompt = torch.randint(3, 32768, (1, options.prompt), device=options.device)
    seconds = best_seconds(lambda: model(prompt, use_cache=False, logits_to_keep=1), options)
    row["prefill_tokens_per_s"] = round(options.prompt / seconds)
    for batch in options.batches:
        say(f"{kind} experts: decode, batch {batch}")
        row[f"decode_tokens_per_s_batch_{batch}"] = decode_rate(model, options, batch)
        if not options.eager:
            try:
                row[f"decode_tokens_per_s_batch_{batch}_static"] = decode_rate(model, options, batch,
                                                                               cache_implementation="static")
            except Exception as error:  # said, and not fatal: the other rows are worth having
                row[f"decode_tokens_per_s_batch_{batch}_static"] = f"{type(error).__name__}: {error}"[:300]
    return row


@torch.inference_mode()
def main():
    options = arguments()
    transformers.logging.set_verbosity_error()
    model = random_model(options)
    about = {"device": torch.cuda.get_device_name() if options.device.startswith("cuda") else "cpu",
             "parameters_1e9": round(sum(p.numel() for p in model.parameters()) / 1e9, 2), "layers": options.layers,
             "prompt": options.prompt, "torch": torch.__version__, "transformers": transformers.__version__}
    prompt = torch.randint(3, 32768, (1, 64), device=options.device)
    exact = model(prompt).logits.float()
    print(json.dumps({**measure(model, "bf16", options), **about}), flush=True)
    torch._dynamo.reset()
    say("rounding the experts to NVFP4")
    model.set_experts_implementation("thresher")
    start = time.perf_counter()
    door.prepare(model, free=True)
    seconds = time.perf_counter() - start
    row = measure(model, "nvfp4", options)
    rounded = model(prompt).logits.float()
    row["cosine_of_logits"] = round(torch.cosine_similarity(exact.flatten(), rounded.flatten(), dim=0).item(), 4)
    row["seconds_to_round_and_pack"] = round(seconds, 1)
    print(json.dumps({**row, **about}), flush=True)


if __name__ == "__main__":
    main()
