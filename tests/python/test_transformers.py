# SPDX-License-Identifier: Apache-2.0
"""Tiny random models of four families through plain from_pretrained, against their dequantised twins."""
import contextlib
import copy
import json
import logging
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

import thresher
import thresher.transformers as door
from nvfp4_files import write_nvfp4
from thresher.__main__ import command_path

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
# How far logits may be from the twin's, as a share of their largest magnitude: two layers of experts whose inputs are
# rounded to the type that they multiply, 8 or 11 bits, and sums in another order.
BOUND = {"bf16": 2e-2, "fp16": 2e-3}

COMMON = dict(vocab_size=96, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
              max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def configs():
    return {
        "qwen3_moe": (transformers.Qwen3MoeConfig(
            **COMMON, intermediate_size=64, moe_intermediate_size=32, num_experts=8, num_experts_per_tok=2, head_dim=16,
            norm_topk_prob=True), r"self_attn\.q_proj\.weight"),
        "mixtral": (transformers.MixtralConfig(
            **COMMON, intermediate_size=48, num_local_experts=4, num_experts_per_tok=2), r"$.^"),
        "deepseek_v3": (transformers.DeepseekV3Config(
            **{**COMMON, "num_key_value_heads": 4}, intermediate_size=64, moe_intermediate_size=32, n_routed_experts=8,
            num_experts_per_tok=3, n_shared_experts=1, n_group=2, topk_group=1, first_k_dense_replace=1,
            kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=16, qk_nope_head_dim=16, v_head_dim=16),
            r"shared_experts\.\w+\.weight"),
        "gpt_oss": (transformers.GptOssConfig(
            **COMMON, intermediate_size=64, num_local_experts=4, num_experts_per_tok=2, head_dim=16), r"$.^"),
        "llama4_text": (transformers.Llama4TextConfig(
            **COMMON, intermediate_size=48, intermediate_size_mlp=64, num_local_experts=4, num_experts_per_tok=1,
            head_dim=16, moe_layers=[0, 1], attn_temperature_tuning=False), r"shared_expert\.\w+\.weight"),
    }


# Whose experts lie in stacks, which compressed-tensors' format has not.
STACKED = ("gpt_oss", "llama4_text")


def random_model(config):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():  # as they are made, biases are zeros and experts are almost nothing
        for name, parameter in model.named_parameters():
            if "bias" in name or "experts" in name:
                parameter.normal_(std=0.3)
    return model


@torch.no_grad()
def round_in_place(module):
    """Every expert's gate, up and down to the values that they have in NVFP4."""
    for index in range(module.num_experts):
        first, down = module.gate_up_proj[index], module.down_proj[index]
        if module.is_transposed:
            first, down = first.T, down.T
        half = len(first) // 2
        for part in ((first[:half], first[half:]) if module.is_concatenated else (first[::2], first[1::2])) + (down,):
            part.copy_(torch.from_numpy(thresher.quantize(part.contiguous().numpy()).dequantize()))


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        torch.set_num_threads(1)  # models are tiny; threads that wait for each other are slow on a busy machine
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        torch.set_grad_enabled(False)
        cls.addClassCleanup(torch.set_grad_enabled, True)
        for family, (config, linears) in configs().items():
            random_model(config).save_pretrained(cls.folder / family)
            for form in ("modelopt", "compressed-tensors"):
                if not (family in STACKED and form == "compressed-tensors"):
                    write_nvfp4(cls.folder / family, cls.folder / f"{family}-{form}",
                                cls.folder / f"{family}-{form}-twin", form, linears)

    def load(self, name, device="cpu", **options):
        return AutoModelForCausalLM.from_pretrained(self.folder / name, **options).eval().to(device)

    @contextlib.contextmanager
    def options(self, **values):
        before = copy.copy(door.options)
        for name, value in values.items():
            setattr(door.options, name, value)
        try:
            yield
        finally:
            door.options = before

    def forms(self):
        return sorted(path.name.removesuffix("-twin") for path in self.folder.glob("*-twin"))

    def close(self, ours, twin, kind):
        error = ((ours.float().cpu() - twin.float().cpu()).abs().max() / twin.abs().max()).item()
        self.assertLess(error, BOUND[kind])
        self.assertTrue(torch.isfinite(ours).all())

    def test_logits_are_the_twins(self):
        tokens = torch.arange(3, 27).view(2, 12)
        for name in self.forms():
            twin = self.load(f"{name}-twin", dtype=torch.float32)(tokens).logits
            for device in DEVICES:
                for kind in ("bf16", "fp16"):
                    with self.subTest(name, device=device, kind=kind), self.options(activations=kind):
                        model = self.load(name, device, dtype=torch.float32)
                        count = sum(isinstance(module, door.ThresherExperts) for module in model.modules())
                        self.assertEqual(count, 1 if "deepseek" in name else 2)
                        self.close(model(tokens.to(device)).logits, twin, kind)

    def test_experts_hold_no_parameters_and_linears_are_ours(self):
        for form in ("modelopt", "compressed-tensors"):
            model = self.load(f"deepseek_v3-{form}", dtype=torch.bfloat16)
            self.assertEqual([name for name, _ in model.named_parameters() if ".experts." in name], [])
            ours = [name for name, module in model.named_modules() if isinstance(module, door.ThresherLinear)]
            shared = "model.layers.1.mlp.shared_experts"
            self.assertEqual(ours, [f"{shared}.{kind}_proj" for kind in ("gate", "up", "down")])

    def test_nothing_is_missing_or_left_over(self):
        for name in self.forms():
            _, said = AutoModelForCausalLM.from_pretrained(self.folder / name, output_loading_info=True)
            self.assertEqual({key: list(value) for key, value in said.items() if value}, {}, name)

    def test_generate(self):
        for device in DEVICES:
            for name in self.forms():
                with self.subTest(name, device=device), self.options(activations="fp16"):
                    prompt = torch.tensor([[3, 14, 15, 9]], device=device)
                    arguments = dict(max_new_tokens=8, do_sample=False)
                    ours = self.load(name, device, dtype=torch.float32)
                    twin = self.load(f"{name}-twin", device, dtype=torch.float32)
                    said = ours.generate(prompt, **arguments)
                    self.assertEqual(said.shape, (1, 12))
                    # Where two words are as good, a rounding decides; what was chosen must be as good as the best.
                    logits = twin(said).logits[0, 3:-1]
                    chosen = logits.gather(1, said[0, 4:, None])[:, 0]
                    self.assertTrue((chosen >= logits.max(1).values - 0.02 * logits.abs().max()).all())

    def test_types_of_models(self):
        tokens = torch.arange(3, 15)[None]
        for dtype in (torch.bfloat16, torch.float16):
            twin = self.load("mixtral-modelopt-twin", dtype=torch.float32)(tokens).logits
            for device in DEVICES:
                logits = self.load("mixtral-modelopt", device, dtype=dtype)(tokens.to(device)).logits
                self.assertEqual(logits.dtype, dtype)
                self.assertLess(((logits.float().cpu() - twin).abs().max() / twin.abs().max()).item(), 0.06)

    def test_w4a4(self):
        """Rounding activations to NVFP4 too is another model, but not a very different one."""
        tokens = torch.arange(3, 15)[None]
        plain = self.load("mixtral-modelopt", dtype=torch.float32)(tokens).logits
        with self.options(activations="nvfp4"):
            rounded = self.load("mixtral-modelopt", dtype=torch.float32)(tokens).logits
        self.assertGreater((rounded - plain).abs().max().item(), 1e-3)
        self.assertGreater(torch.cosine_similarity(rounded.flatten(), plain.flatten(), dim=0).item(), 0.9)

    def test_long_inputs_are_computed_in_parts(self):
        tokens = torch.arange(3, 43)[None]
        whole = self.load("qwen3_moe-modelopt", dtype=torch.float32)(tokens).logits
        with self.options(tokens_max=16):
            parts = self.load("qwen3_moe-modelopt", dtype=torch.float32)(tokens).logits
        torch.testing.assert_close(parts, whole, rtol=1e-3, atol=1e-4)

    def test_compiled_without_a_break(self):
        model = self.load("qwen3_moe-modelopt", dtype=torch.float32)
        block = model.model.layers[0].mlp
        x = torch.randn(1, 5, 64)
        expected = block(x)
        torch._dynamo.reset()
        compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), expected)

    def test_the_backend_rounds_unquantised_experts(self):
        tokens = torch.arange(3, 15)[None]
        for family in configs():
            if family == "llama4_text":
                continue  # has no interface for a backend
            with self.subTest(family), self.options(activations="fp16"):
                model = self.load(family, dtype=torch.float32, experts_implementation="thresher")
                twin = self.load(family, dtype=torch.float32)
                for module in twin.modules():
                    if hasattr(module, "num_experts") and hasattr(module, "gate_up_proj"):
                        round_in_place(module)
                self.close(model(tokens).logits, twin(tokens).logits, "fp16")
                self.assertEqual(model.generate(tokens[:, :4], max_new_tokens=3, do_sample=False).shape, (1, 7))

    def test_prepared_experts_compile(self):
        model = door.prepare(self.load("qwen3_moe", dtype=torch.float32, experts_implementation="thresher"))
        block, x = model.model.layers[0].mlp, torch.randn(1, 5, 64)
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(block, fullgraph=True, backend="aot_eager")(x), block(x))

    def test_experts_that_change_are_rounded_again(self):
        tokens = torch.arange(3, 15)[None]
        model = self.load("mixtral", dtype=torch.float32, experts_implementation="thresher")
        experts = model.model.layers[0].mlp.experts
        before = model(tokens).logits
        kept = experts.__dict__[door._ROUNDED]
        self.assertTrue(torch.equal(model(tokens).logits, before))
        self.assertIs(experts.__dict__[door._ROUNDED], kept)
        other = {name: -2 * value for name, value in experts.state_dict().items()}
        experts.load_state_dict(other)  # in place
        changed = model(tokens).logits
        self.assertFalse(torch.equal(changed, before))
        experts.down_proj.data = experts.down_proj.data.clone() * 3  # in another place
        self.assertFalse(torch.equal(model(tokens).logits, changed))

    def test_a_model_that_moves_is_packed_once(self):
        """Loaded on the CPU of a machine with a GPU: for the device that .to() names, with a stand-in for it."""
        packed, gpu = [], torch.device("cuda", 0)

        def pack(module, device):
            packed.append(device)
            module.device = device

        with unittest.mock.patch.object(torch.cuda, "is_available", lambda: True), \
                unittest.mock.patch.object(door.ThresherExperts, "pack", pack), \
                unittest.mock.patch.object(door.ThresherLinear, "pack", pack):
            model = AutoModelForCausalLM.from_pretrained(self.folder / "qwen3_moe-modelopt", dtype=torch.float32)
            ours = [module for module in model.modules() if isinstance(module, door._OfFiles)]
            self.assertEqual((len(ours), packed), (4, []))
            for module in ours:
                for _ in range(2):
                    with unittest.mock.patch.object(torch, "empty", lambda *_, device: None):
                        module._apply(lambda tensor: types.SimpleNamespace(device=gpu))
            self.assertEqual(packed, [gpu] * 4)
            for module in ours:
                module.device = torch.device("cpu")
            model.to("cpu", torch.float16)
            self.assertEqual(len(packed), 4)

    def test_freed_experts(self):
        model = door.prepare(self.load("mixtral", dtype=torch.float32, experts_implementation="thresher"), free=True)
        self.assertEqual(sum(p.numel() for n, p in model.named_parameters() if ".experts." in n), 0)
        self.assertTrue(torch.isfinite(model(torch.arange(3, 15)[None]).logits).all())
        del model.model.layers[0].mlp.experts.__dict__[door._ROUNDED]
        with self.assertRaisesRegex(thresher.Error, "were let go"):
            model(torch.arange(3, 15)[None])

    def test_fp8_linears_are_dequantised(self):
        source, target = self.folder / "qwen3_moe-modelopt", self.folder / "mixed"
        shutil.copytree(source, target)
        tensors = load_file(target / "model.safetensors")
        twin = load_file(self.folder / "qwen3_moe-modelopt-twin" / "model.safetensors")
        name = "model.layers.0.self_attn.o_proj"
        scale = tensors[f"{name}.weight"].abs().max() / 448
        tensors[f"{name}.weight"] = (tensors[f"{name}.weight"] / scale).to(torch.float8_e4m3fn)
        tensors[f"{name}.weight_scale"] = scale
        save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
        model = self.load("mixed", dtype=torch.float32)
        weight = model.get_submodule(name).weight
        torch.testing.assert_close(weight, tensors[f"{name}.weight"].float() * scale)
        self.assertLess((weight - twin[f"{name}.weight"]).abs().max().item(), 448 * scale.item() / 16)

    def test_other_files_stay_with_their_owners(self):
        integers = {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}
        for config, ours in [({"quant_method": "compressed-tensors", "format": "pack-quantized",
                               "config_groups": {"g": integers}}, False),
                             ({"quant_method": "modelopt", "quant_algo": "FP8"}, False),
                             ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
                                 "model.layers.0.mlp.experts": {"quant_algo": "W4A16_NVFP4"}}}, True),
                             ({"quant_method": "auto-round", "data_type": "nv_fp"}, True)]:
            self.assertEqual(door.is_nvfp4(config), ours)

    def broken(self, change, sentence):
        target = self.folder / "broken"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.folder / "qwen3_moe-compressed-tensors", target)
        tensors = load_file(target / "model.safetensors")
        change(tensors)
        save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
        with self.assertRaisesRegex(thresher.Error, sentence):
            self.load("broken")(torch.arange(3, 15)[None])  # where there is a GPU, packed at the first call

    def test_broken_checkpoints_say_what_is_wrong(self):
        expert = "model.layers.0.mlp.experts.3.up_proj"
        self.broken(lambda t: t.pop(f"{expert}.weight_global_scale"), "experts.3.up_proj")
        self.broken(lambda t: t.pop(f"{expert}.weight_packed"), "experts.3.up_proj")
        self.broken(lambda t: t.update({f"{expert}.weight_scale": t[f"{expert}.weight_scale"][:4]}),
                    "experts.3.up_proj")
        self.broken(lambda t: t.update({f"{expert}.weight_scale": torch.full(
            (32, 4), float("nan")).to(torch.float8_e4m3fn)}), "NaN")
        self.broken(lambda t: t.update({f"{expert}.weight_global_scale": torch.zeros(1)}), "global")
        self.broken(lambda t: t.update({"model.layers.0.nobody.weight_packed": torch.zeros(16, 8, dtype=torch.uint8)}),
                    "no linear layer for model.layers.0.nobody")

    def test_a_half_written_file(self):
        target = self.folder / "half"
        shutil.copytree(self.folder / "qwen3_moe-modelopt", target)
        self.addCleanup(shutil.rmtree, target)
        file = target / "model.safetensors"
        file.write_bytes(file.read_bytes()[:-1000])
        with self.assertRaisesRegex(thresher.Error, "model.safetensors"):
            self.load("half")

    def test_the_example(self):
        """From a random model through the command to tokens."""
        try:
            command_path()
        except SystemExit as error:
            self.skipTest(str(error))
        example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "generate.py"
        for device in DEVICES:
            said = subprocess.run([sys.executable, example, device], capture_output=True, text=True, timeout=300)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertRegex(said.stdout, rf"{device}: \[1, 17, 42, 99, .*\]")

    def test_stacks_through_the_command(self):
        """`thresher quantize` of stacked experts: every matrix is nearly the model's own, and the files load."""
        try:
            command = command_path()
        except SystemExit as error:
            self.skipTest(str(error))
        tokens = torch.arange(3, 15)[None]
        for family in STACKED:
            for form in ("modelopt", "compressed-tensors"):
                target = f"{family}-{form}-made"
                subprocess.run([command, "quantize", self.folder / family, self.folder / target, "--format", form],
                               check=True, capture_output=True)
                plain = self.load(family, dtype=torch.float32)
                stacks = [module for module in plain.modules() if door._is_experts(module)]
                with self.subTest(target), self.options(activations="fp16"):
                    self.nearly_the_stacks(thresher.Checkpoint(self.folder / target), stacks, family == "gpt_oss")
                    # Whose stacks are by now those of the files, so that it is their dequantised twin.
                    self.close(self.load(target, dtype=torch.float32)(tokens).logits, plain(tokens).logits, "fp16")

    def nearly_the_stacks(self, checkpoint, stacks, interleaved):
        """And puts what the checkpoint has in their place."""
        self.assertEqual(len(checkpoint.layers), len(stacks))
        for layer, stack in zip(checkpoint.layers, stacks):
            half = stack.gate_up_proj.shape[2] // 2
            gate, up = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(0, half), slice(half, None))
            for index in range(layer.expert_count):
                expert = checkpoint.expert(layer, index)
                for made, own in ((expert.gate, stack.gate_up_proj[index][:, gate]),
                                  (expert.up, stack.gate_up_proj[index][:, up]), (expert.down, stack.down_proj[index])):
                    values = torch.from_numpy(made.dequantize())
                    # Rounding to 4 bits leaves normal values at 0.995; rows in another order, at nothing.
                    self.assertGreater(torch.cosine_similarity(values.flatten(), own.T.flatten(), dim=0).item(), 0.98)
                    own.copy_(values.T)

    def test_a_folder_with_modelopts_older_config(self):
        target = self.folder / "older"
        shutil.copytree(self.folder / "qwen3_moe-modelopt", target)
        config = json.loads((target / "config.json").read_text())
        said = config.pop("quantization_config")
        (target / "config.json").write_text(json.dumps(config))
        (target / "hf_quant_config.json").write_text(json.dumps(
            {"producer": said["producer"], "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": None,
                                                            "group_size": 16, "exclude_modules": ["lm_head"]}}))
        tokens = torch.arange(3, 15)[None]
        expected = self.load("qwen3_moe-modelopt", dtype=torch.float32)(tokens).logits
        self.assertTrue(torch.equal(self.load("older", dtype=torch.float32)(tokens).logits, expected))
        (target / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
        self.assertNotIn("quantization_config", transformers.AutoConfig.from_pretrained(target).to_dict())

    def test_saving_is_refused(self):
        with self.assertRaisesRegex(thresher.Error, "mixtral-modelopt, which can be copied"):
            self.load("mixtral-modelopt").save_pretrained(self.folder / "again")
        self.assertFalse((self.folder / "again").exists())


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    unittest.main()
