# SPDX-License-Identifier: Apache-2.0
"""vLLM's plugin at the level of a layer: vLLM makes it, loads a checkpoint's tensors into it, routes and calls it.

Needs vLLM's pinned version, and no GPU. Whole models want a GPU, and were not run.
"""
import json
import pathlib
import tempfile
import unittest

import torch
import vllm
from vllm.config import DeviceConfig, ModelConfig, VllmConfig, set_current_vllm_config
from vllm.distributed import init_distributed_environment, initialize_model_parallel
from vllm.forward_context import set_forward_context
from vllm.model_executor.layers.fused_moe.layer import FusedMoEFactory
from vllm.model_executor.layers.quantization import get_quantization_config

import thresher
import thresher.torch as tt
import thresher.vllm

E, H, I, K = 8, 64, 32, 2
MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"], "kv_cache_scheme": None,
            "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16},
                                          "input_activations": {"num_bits": 4, "type": "float", "group_size": 16}}}}


def route(hidden_states, gating_output, topk, renormalize):
    """vLLM's own router is an operator of CUDA."""
    weights, ids = torch.softmax(gating_output.float(), dim=-1).topk(topk, dim=-1)
    return weights / weights.sum(-1, keepdim=True), ids.int()


def matrix(n, k, seed):
    return tt.quantize_weight(torch.randn(n, k, generator=torch.Generator().manual_seed(seed)) * 2**(seed % 3))


class Layer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        thresher.vllm.register()
        thresher.vllm.register()  # as vLLM may
        cls.config = VllmConfig(device_config=DeviceConfig("cpu"))
        with set_current_vllm_config(cls.config), tempfile.NamedTemporaryFile() as file:
            init_distributed_environment(1, 0, f"file://{file.name}", 0, "gloo")
            initialize_model_parallel(1, 1, backend="gloo")

    def made(self, prefix, **options):
        quant = get_quantization_config("thresher").from_config(MODELOPT)
        with set_current_vllm_config(self.config):
            return FusedMoEFactory(num_experts=E, top_k=K, hidden_size=H, intermediate_size=I, quant_config=quant,
                                   params_dtype=torch.bfloat16, custom_routing_function=route, prefix=prefix, **options)

    def load(self, experts, matrices):
        """A checkpoint's tensors, by vLLM's own loader."""
        for index, of_expert in enumerate(matrices):
            for shard, one in zip(("w1", "w3", "w2"), of_expert):
                stored = {"weight": torch.from_numpy(one.codes),
                          "weight_scale": torch.from_numpy(one.scales).view(torch.float8_e4m3fn),
                          "weight_scale_2": torch.tensor(one.global_scale), "input_scale": torch.tensor(1.0)}
                for leaf, tensor in stored.items():
                    name = f"{'w2' if shard == 'w2' else 'w13'}_{leaf}"
                    experts.weight_loader(getattr(experts, name), tensor, name, shard, index)
        experts.quant_method.process_weights_after_loading(experts)

    def expected(self, matrices, x, logits):
        weights, ids = route(x, logits, K, True)
        out = torch.zeros(x.shape, dtype=torch.float64)
        for token, (of_token, chosen) in enumerate(zip(weights.double(), ids)):
            for factor, index in zip(of_token, chosen):
                gate, up, down = (torch.from_numpy(one.dequantize()).double() for one in matrices[index])
                one = x[token].double()
                out[token] += factor * down @ (torch.nn.functional.silu(gate @ one) * (up @ one))
        return out

    def test_a_layer_computes_what_its_files_say(self):
        matrices = [(matrix(I, H, 3 * one), matrix(I, H, 3 * one + 1), matrix(H, I, 3 * one + 2)) for one in range(E)]
        runner = self.made("layer.0")
        experts = runner.routed_experts
        self.assertEqual(type(experts.quant_method).__name__, "ThresherModelOptExperts")
        self.load(experts, matrices)
        self.assertEqual(sum(parameter.numel() for parameter in experts.parameters()), 0)  # packed, and let go
        x, logits = torch.randn(11, H).bfloat16(), torch.randn(11, E)
        y = self.called(runner, x, logits)
        wanted = self.expected(matrices, x, logits)
        self.assertLess((y.double() - wanted).abs().max(), 1e-2 * wanted.abs().max())
        experts._expert_map = torch.full((E,), -1, dtype=torch.int32)  # all are experts of other processes
        self.assertEqual(self.called(runner, x, logits).abs().max(), 0)

    def called(self, runner, x, logits):
        with set_current_vllm_config(self.config), set_forward_context(None, self.config, num_tokens=len(x)):
            return runner(x, logits)

    def test_what_it_refuses(self):
        with self.assertRaisesRegex(thresher.Error, "activation 'gelu'"):
            self.made("layer.1", activation="gelu")
        with self.assertRaisesRegex(thresher.Error, "with biases"):
            self.made("layer.2", has_bias=True)
        runner = self.made("layer.3")
        with self.assertRaisesRegex(thresher.Error, "were not loaded"):
            runner.routed_experts.quant_method.apply(runner.routed_experts, torch.zeros(1, H).bfloat16(),
                                                     torch.zeros(1, K), torch.zeros(1, K).int(), None, None)

    def test_it_comes_when_it_is_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            config = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": H,
                      "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 96,
                      "quantization_config": MODELOPT}
            pathlib.Path(folder, "config.json").write_text(json.dumps(config))
            for asked, got in (("thresher", "thresher"), (None, "modelopt_fp4")):
                model = ModelConfig(folder, skip_tokenizer_init=True, quantization=asked, dtype="bfloat16")
                self.assertEqual(model.quantization, got)

    def test_another_version_says_so(self):
        other = thresher.vllm.OtherVersion
        self.assertIsNone(other.override_quantization_method(MODELOPT, None))
        with self.assertRaisesRegex(thresher.Error, f"written for vLLM 0.32, and this is {vllm.__version__}"):
            other.override_quantization_method(MODELOPT, "thresher")


if __name__ == "__main__":
    unittest.main()
