# SPDX-License-Identifier: Apache-2.0
"""Layers and checkpoints with numpy. The library's own tests judge values; these judge what Python adds."""
import json
import os
import pathlib
import signal
import struct
import tempfile
import threading
import time
import unittest

import numpy as np

import thresher
from test_numpy import random, silu, values_of

ENGINE = thresher.Engine(threads=2)
H, I, E, K = 64, 32, 4, 2


def expert(seed, **more):
    gate, up, down = (thresher.quantize(random(*shape, seed=10 * seed + i, scale=0.3))
                      for i, shape in enumerate(((I, H), (I, H), (H, I))))
    return thresher.Expert(gate, up, down, **more)


def computed(one, x):
    """One expert in float64."""
    gate, up, down = (values_of(matrix) for matrix in (one.gate, one.up, one.down))
    biases = (0 if bias is None else bias.astype(np.float64) for bias in (one.gate_bias, one.up_bias, one.down_bias))
    of_gate, of_up, of_down = biases
    return (silu(x @ gate.T + of_gate) * (x @ up.T + of_up)) @ down.T + of_down


def expected(experts, x, ids, weights):
    out = np.zeros((len(x), H))
    for token, (row, slots) in enumerate(zip(ids, weights)):
        for index, weight in zip(row, slots):
            if 0 <= index < len(experts):
                out[token] += weight * computed(experts[index], x[token].astype(np.float64))
    return out


def routed(tokens, seed=1):
    generator = np.random.default_rng(seed)
    return (generator.integers(0, E, (tokens, K)).astype(np.int32), generator.random((tokens, K)).astype(np.float32))


class Layers(unittest.TestCase):
    def close(self, out, wanted, share=8e-3):
        self.assertLess(np.abs(out - wanted).max(), share * np.abs(wanted).max())

    def test_forward(self):
        experts = [expert(seed, down_bias=random(H, seed=seed)) for seed in range(E)]
        shared = [expert(9)]
        layer = thresher.MoeLayer(ENGINE, experts, shared=shared, top_k=K, tokens_max=16, activations="fp16")
        self.assertEqual((layer.hidden, layer.intermediate, layer.expert_count, layer.shared_count), (H, I, E, 1))
        for tokens in (0, 1, 7, 16):
            x, (ids, weights) = random(tokens, H, seed=5), routed(tokens)
            ids[:1, 0] = -1
            of_shared = random(tokens, 1, seed=6)
            out = layer.forward(x, ids, weights, of_shared)
            wanted = expected(experts, x, ids, weights) + of_shared * computed(shared[0], x.astype(np.float64))
            self.assertEqual(out.shape, (tokens, H))
            if tokens:
                self.close(out, wanted)

    def test_the_gpus_kernels_compute_the_same(self):
        emulator = thresher.Engine("emulator")
        experts, x, (ids, weights) = [expert(seed) for seed in range(2)], random(3, H), routed(3)
        outs = [thresher.MoeLayer(engine, experts, top_k=K, tokens_max=4).forward(x, ids, weights)
                for engine in (ENGINE, emulator)]
        self.close(outs[1], outs[0])

    def test_types(self):
        experts, x, (ids, weights) = [expert(seed) for seed in range(E)], random(5, H), routed(5)
        wanted = expected(experts, x, ids, weights)
        for kind, values, back in (("fp16", x.astype(np.float16), np.asarray),
                                   ("bf16", thresher.to_bf16(x), thresher.from_bf16)):
            layer = thresher.MoeLayer(ENGINE, experts, top_k=K, tokens_max=8, x=kind)
            self.close(back(layer.forward(values, ids, weights)).astype(np.float64), wanted, 3e-2)

    def test_bad_input(self):
        experts = [expert(seed) for seed in range(E)]
        layer = thresher.MoeLayer(ENGINE, experts, top_k=K, tokens_max=8)
        x, (ids, weights) = random(3, H), routed(3)
        read_only = np.empty((3, H), np.float32)
        read_only.flags.writeable = False
        for sentence, arguments, options in [
                ("x is fp16 but the layer was made for fp32", (x.astype(np.float16), ids, weights), {}),
                ("x has shape", (x[:, :32].copy(), ids, weights), {}),
                ("x is not contiguous", (np.asfortranarray(x), ids, weights), {}),
                ("ids is of int64 instead of int32", (x, ids.astype(np.int64), weights), {}),
                ("ids has shape", (x, ids[:2], weights), {}),
                ("weights is of float64", (x, ids, weights.astype(np.float64)), {}),
                ("weights has shape", (x, ids, np.ones((3, 3), np.float32)), {}),
                ("shared_weights has shape", (x, ids, weights, np.ones((3, 1), np.float32)), {}),
                ("out is read-only", (x, ids, weights), {"out": read_only}),
                ("out overlaps x", (x, ids, weights), {"out": x}),
                ("8", (random(9, H), *routed(9)), {})]:  # more tokens than the layer takes
            with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                layer.forward(*arguments, **options)
        for sentence, experts_, options in [
                ("expert 1 is a int", [experts[0], 3], {}),
                ("expert 0: up is a NoneType", [thresher.Expert(experts[0].gate, None, experts[0].down)], {}),
                ("expert 0: down_bias has shape", [expert(0, down_bias=np.zeros(3, np.float32))], {}),
                ("expert 0: up_bias is of float64", [expert(0, up_bias=np.zeros(I))], {}),
                ("expert 0: input_scale = 'x' is not a number", [expert(0, input_scale="x")], {}),
                ("activation = 'gelu' is none of silu", experts, {"activation": "gelu"}),
                ("there is no option 'speed' of a layer: there are top_k, tokens_max", experts, {"speed": 3}),
                ("tokens_max = 18446744073709551624 is not between", experts, {"tokens_max": 2**64 + 8}),
                ("tokens_max = 8.5 is a float, not a whole number", experts, {"tokens_max": 8.5}),
                ("first_expert = '0' is a str", experts, {"first_expert": "0"}),
                ("limit = 'x' is not a number", experts, {"limit": "x"}),
                ("batch_invariant = 2 is neither True nor False", experts, {"batch_invariant": 2}),
                ("activations = 'fp32'", experts, {"activations": "fp32"})]:
            with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                thresher.MoeLayer(ENGINE, experts_, **{"top_k": K, **options})
        for sentence, engine, top_k in (("engine is a str", "cpu", K), ("top_k = 1.5 is a float", ENGINE, 1.5),
                                        ("top_k = 18446744073709551618", ENGINE, 2**64 + 2)):
            with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                thresher.MoeLayer(engine, experts, top_k=top_k)
        with self.assertRaises(thresher.Error):
            thresher.MoeLayer(ENGINE, [experts[0], thresher.Expert(*[thresher.quantize(random(32, 32))] * 3)], top_k=K)

    def test_calls_give_the_lock_back(self):
        """While one long call computes, Python goes on in another thread."""
        emulator = thresher.Engine("emulator")
        layer = thresher.MoeLayer(emulator, [expert(seed) for seed in range(E)], top_k=K, tokens_max=64)
        x, (ids, weights) = random(64, H), routed(64)
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.perf_counter()
        layer.forward(x, ids, weights)
        end = time.perf_counter()
        done.set()
        thread.join()
        inside = [tick for tick in ticks if begin + 0.1 * (end - begin) < tick < end - 0.1 * (end - begin)]
        self.assertGreater(len(inside), 2, f"{end - begin} s")

    def test_a_fork_is_told_to_make_its_own(self):
        experts, x, (ids, weights) = [expert(seed) for seed in range(E)], random(5, H), routed(5)
        layer = thresher.MoeLayer(ENGINE, experts, top_k=K, tokens_max=8)
        expected = layer.forward(x, ids, weights)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            code = 1
            try:
                layer.forward(x, ids, weights)
            except thresher.Error as error:
                own = thresher.MoeLayer(thresher.Engine(threads=2), experts, top_k=K, tokens_max=8)
                same = np.array_equal(own.forward(x, ids, weights), expected)
                code = 0 if "before fork()" in str(error) and same else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        np.testing.assert_array_equal(layer.forward(x, ids, weights), expected)

    def test_a_fork_while_a_thread_is_in_a_call(self):
        """The child must not wait for that thread, which is not there."""
        layer = thresher.MoeLayer(ENGINE, [expert(seed) for seed in range(E)], top_k=K, tokens_max=1024)
        x, (ids, weights), done = random(1024, H), routed(1024), threading.Event()

        def work():
            while not done.is_set():
                layer.forward(x, ids, weights)

        thread = threading.Thread(target=work)
        thread.start()
        statuses = []
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(5)
                try:
                    layer.forward(x, ids, weights)
                except thresher.Error as error:
                    os._exit(0 if "before fork()" in str(error) else 1)
                finally:
                    os._exit(2)
            statuses.append(os.waitpid(child, 0)[1])
        done.set()
        thread.join()
        self.assertEqual(statuses, [0] * 5)

    def test_route(self):
        logits = random(6, 8, seed=2)
        ids, weights = thresher.route(logits, 3, renormalize=True)
        order = np.argsort(-logits, axis=1, kind="stable")[:, :3]
        np.testing.assert_array_equal(ids, order)
        chosen = np.exp(np.take_along_axis(logits.astype(np.float64), order, 1))
        np.testing.assert_allclose(weights, chosen / chosen.sum(1, keepdims=True), rtol=1e-5)
        for sentence, arguments, options in [("logits is of float64", (np.zeros((1, 4)), 1), {}),
                                             ("bias has shape", (logits, 2), {"bias": np.zeros(3, np.float32)}),
                                             ("score = 'max' is none of", (logits, 2), {"score": "max"}),
                                             ("top_k", (logits, 10**15), {}), ("top_k", (logits, -1), {}),
                                             ("top_k = 2.5 is a float", (logits, 2.5), {}),
                                             ("top_k = 18446744073709551618", (logits, 2**64 + 2), {}),
                                             ("scaling = 'x' is not", (logits, 2), {"scaling": "x"}),
                                             ("renormalize = 'no' is neither", (logits, 2), {"renormalize": "no"}),
                                             ("group_count = 1.5", (logits, 2), {"group_count": 1.5})]:
            with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                thresher.route(*arguments, **options)
        with self.assertRaises(thresher.Error):
            thresher.route(logits, 9)


def save(folder, tensors, config):
    """A safetensors file: {name: (dtype, array)}."""
    header, content = {}, b""
    for name, (dtype, array) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(content), len(content) + array.nbytes]}
        content += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(folder, "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content)
    pathlib.Path(folder, "config.json").write_text(json.dumps(config))


CONFIG = {"model_type": "qwen3_moe", "num_experts": E, "num_experts_per_tok": K, "norm_topk_prob": True,
          "hidden_act": "silu", "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}


class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.experts = [expert(seed) for seed in range(E)]
        self.tensors = {"model.layers.0.mlp.gate.weight": ("F32", random(E, H))}
        for index, one in enumerate(self.experts):
            for name in ("gate", "up", "down"):
                matrix, place = getattr(one, name), f"model.layers.0.mlp.experts.{index}.{name}_proj"
                self.tensors[f"{place}.weight"] = ("U8", matrix.codes)
                self.tensors[f"{place}.weight_scale"] = ("F8_E4M3", matrix.scales)
                self.tensors[f"{place}.weight_scale_2"] = ("F32", np.array(matrix.global_scale, np.float32))
        save(self.folder, self.tensors, CONFIG)

    def test_what_is_in_it(self):
        checkpoint = thresher.Checkpoint(self.folder)
        self.assertEqual(checkpoint.model_type, "qwen3_moe")
        self.assertEqual(set(checkpoint.tensors), set(self.tensors))
        router = "model.layers.0.mlp.gate.weight"
        self.assertEqual(checkpoint.tensors[router].shape, (E, H))
        np.testing.assert_array_equal(checkpoint.values(router), self.tensors[router][1])
        self.assertEqual(checkpoint.bytes(router).tobytes(), self.tensors[router][1].tobytes())
        layer, = checkpoint.layers
        self.assertEqual((layer.prefix, layer.index, layer.format, layer.expert_count, layer.hidden, layer.intermediate,
                          layer.top_k, layer.activation, layer.router_weight, layer.fault),
                         ("model.layers.0.mlp.experts", 0, "modelopt", E, H, I, K, "silu", router, ""))
        self.assertEqual(layer.route["score"], "softmax")
        self.assertTrue(layer.route["renormalize"])

    def test_experts_outlive_it(self):
        for mapped in (True, False):
            checkpoint = thresher.Checkpoint(self.folder, mapped=mapped)
            loaded = checkpoint.expert(checkpoint.layers[0], 2)
            matrix, scale = checkpoint.matrix("model.layers.0.mlp.experts.1.down_proj")
            del checkpoint
            self.assertEqual(scale, 1.0)
            for ours, theirs in ((loaded.up, self.experts[2].up), (matrix, self.experts[1].down)):
                np.testing.assert_array_equal(ours.codes, theirs.codes)
                np.testing.assert_array_equal(ours.scales, theirs.scales)
                self.assertEqual(np.float32(ours.global_scale), np.float32(theirs.global_scale))
            with self.assertRaises(ValueError):
                loaded.up.codes[0, 0] = 1  # a mapped file

    def test_a_layer_of_it(self):
        checkpoint = thresher.Checkpoint(self.folder)
        layer = checkpoint.moe(ENGINE, checkpoint.layers[0], tokens_max=8, x="fp32", activations="fp16")
        direct = thresher.MoeLayer(ENGINE, self.experts, top_k=K, tokens_max=8, activations="fp16")
        x, (ids, weights) = random(6, H), routed(6)
        np.testing.assert_array_equal(layer.forward(x, ids, weights), direct.forward(x, ids, weights))
        half = checkpoint.moe(ENGINE, checkpoint.layers[0], first=1, count=2, tokens_max=8, x="fp32", first_expert=1)
        self.assertEqual(half.expert_count, 2)

    def test_what_is_wrong(self):
        checkpoint = thresher.Checkpoint(self.folder)
        layer = checkpoint.layers[0]
        for sentence, call in [
                ("there is no tensor 'nobody'", lambda: checkpoint.tensors["nobody"]),
                ("nobody", lambda: checkpoint.matrix("nobody")),
                ("", lambda: checkpoint.expert(layer, E)),
                ("2 experts from 3 on are asked for, and there are 0..3",
                 lambda: checkpoint.moe(ENGINE, layer, first=3, count=2)),
                ("there is no option 'speed'", lambda: checkpoint.moe(ENGINE, layer, speed=3)),
                ("first = 18446744073709551616", lambda: checkpoint.moe(ENGINE, layer, first=2**64)),
                ("count = 1.5 is a float", lambda: checkpoint.moe(ENGINE, layer, count=1.5)),
                ("tokens_max = '8' is a str", lambda: checkpoint.moe(ENGINE, layer, tokens_max="8")),
                ("engine is a str", lambda: checkpoint.moe("cpu", layer)),
                ("layer is a int, not one of a checkpoint's", lambda: checkpoint.moe(ENGINE, 0)),
                ("index = 18446744073709551616", lambda: checkpoint.expert(layer, 2**64)),
                ("module = 3 is a int", lambda: checkpoint.matrix(3)),
                ("module = .* has a NUL", lambda: checkpoint.matrix("model.layers.0\0")),
                ("there is no tensor 3", lambda: checkpoint.values(3)),
                ("path = 3 is a int, not a path", lambda: thresher.Checkpoint(3)),
                ("path = .* has a NUL", lambda: thresher.Checkpoint("/tmp\0")),
                ("", lambda: checkpoint.moe(ENGINE, layer, shared=True)),
                ("", lambda: thresher.Checkpoint("/nowhere"))]:
            with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                call()
        name = "model.layers.0.mlp.experts.3.up_proj.weight_scale"
        self.tensors[name] = ("F8_E4M3", np.full_like(self.tensors[name][1], 0x7F))
        save(self.folder, self.tensors, CONFIG)
        broken = thresher.Checkpoint(self.folder)
        with self.assertRaisesRegex(thresher.Error, "experts.3.up_proj"):
            broken.moe(ENGINE, broken.layers[0], tokens_max=8)
        path = pathlib.Path(self.folder, "model.safetensors")
        path.write_bytes(path.read_bytes()[:-7])
        with self.assertRaisesRegex(thresher.Error, "model.safetensors"):
            thresher.Checkpoint(self.folder)


if __name__ == "__main__":
    unittest.main()
