# SPDX-License-Identifier: Apache-2.0
"""The operators of PyTorch, on the CPU and, where there is one, on a GPU."""
import contextlib
import gc
import importlib.util
import os
import shutil
import signal
import sys
import threading
import time
import types
import unittest
import unittest.mock

import torch
from torch._subclasses import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

import thresher
import thresher.torch as tt

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
# How far a result may be from float64's, as a share of the sum of magnitudes: the rounding of the result, and of sums.
BOUND = {torch.float32: 2e-5, torch.float16: 6e-4, torch.bfloat16: 4.2e-3}


def weight(n, k, seed=0):
    return tt.quantize_weight(torch.randn(n, k, generator=torch.Generator().manual_seed(seed)))


def values_of(matrix):
    return torch.from_numpy(matrix.dequantize()).double()


def tokens(rows, k, dtype, device, seed=7):
    return torch.randn(rows, k, generator=torch.Generator().manual_seed(seed)).to(dtype).to(device)


def counts_of(*counts, device):
    return torch.tensor(counts, dtype=torch.int32, device=device)


class Products(unittest.TestCase):
    def close(self, result, expected, magnitude):
        self.assertEqual(result.shape, expected.shape)
        error = (result.double().cpu() - expected).abs()
        self.assertTrue((error <= BOUND[result.dtype] * magnitude + 1e-6).all(), f"{error.max()}")

    def test_gemm_of_groups(self):
        matrices = [weight(40, 64, seed) for seed in range(3)]
        for device in DEVICES:
            for dtype in (torch.bfloat16, torch.float16):
                grouped = tt.GroupedWeights(matrices, device=device, activations=dtype, alpha=[1, 2, 3])
                a = tokens(9, 64, dtype, device)
                exact = a.double().cpu()
                for counts in ([4, 0, 5], [9, 0, 0], [3, 3, 3]):
                    parts = exact.split(counts)
                    expected = torch.cat([part @ values_of(m).T * f for part, m, f in zip(parts, matrices, (1, 2, 3))])
                    size = torch.cat([part.abs() @ values_of(m).abs().T * f
                                      for part, m, f in zip(parts, matrices, (1, 2, 3))])
                    for output in (None, torch.float32, torch.float16, torch.bfloat16):
                        with self.subTest(device=device, dtype=dtype, counts=counts, output=output):
                            c = torch.ops.thresher.gemm(a, grouped.id, counts_of(*counts, device=device),
                                                        out_dtype=output)
                            self.assertEqual(c.dtype, output or dtype)
                            self.close(c, expected, size)

    def test_dual(self):
        gate, up = weight(40, 64, 1), weight(40, 64, 2)
        for device in DEVICES:
            with self.subTest(device):
                grouped = tt.GroupedWeights([(gate, up)], device=device, alpha=0.5, alpha_up=2.0)
                a = tokens(5, 64, torch.bfloat16, device)
                exact = a.double().cpu()
                g, u = exact @ values_of(gate).T * 0.5, exact @ values_of(up).T * 2
                size = (exact.abs() @ values_of(gate).abs().T + 1) * (exact.abs() @ values_of(up).abs().T + 1)
                self.close(torch.ops.thresher.dual(a, grouped.id, out_dtype=torch.float32),
                           torch.nn.functional.silu(g) * u, size)

    def test_nvfp4_activations(self):
        matrix = weight(40, 64)
        for device in DEVICES:
            with self.subTest(device):
                codes, scales, global_scale = torch.ops.thresher.quantize(tokens(6, 64, torch.bfloat16, device))
                grouped = tt.GroupedWeights([matrix], device=device, activations=torch.uint8,
                                            a_global_scale=global_scale.item())
                a = values_of(tt.matrix_of(codes, scales, global_scale.item()))
                c = torch.ops.thresher.gemm(codes, grouped.id, a_scales=scales, out_dtype=torch.float32)
                self.close(c, a @ values_of(matrix).T, a.abs() @ values_of(matrix).abs().T)

    def test_no_rows(self):
        for device in DEVICES:
            grouped = tt.GroupedWeights([weight(8, 16)], device=device)
            self.assertEqual(torch.ops.thresher.gemm(tokens(0, 16, torch.bfloat16, device), grouped.id).shape, (0, 8))

    def test_threads(self):
        grouped = tt.GroupedWeights([weight(64, 64)])
        a = tokens(16, 64, torch.bfloat16, "cpu")
        expected = torch.ops.thresher.gemm(a, grouped.id)
        wrong = []

        def work():
            for rows in (1, 5, 16) * 20:
                if not torch.equal(torch.ops.thresher.gemm(a[:rows], grouped.id), expected[:rows]):
                    wrong.append(rows)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(wrong, [])


class Quantize(unittest.TestCase):
    def test_every_way_writes_the_same_bytes(self):
        """The library's, and what a GPU does, given its global scale or not."""
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            x = tokens(33, 256, dtype, "cpu") * 5
            x[0, :16], x[1, 3], x[2, 16:32] = 0, -0.0, x[2, 16:32] * 1e-6
            expected = torch.ops.thresher.quantize(x)
            others = [tt._device_quantize(x, None), torch.ops.thresher.quantize(x, expected[2])]
            others += [torch.ops.thresher.quantize(x.to(device)) for device in DEVICES]
            for other in others:
                for ours, theirs in zip(other, expected):
                    self.assertEqual(ours.dtype, theirs.dtype)
                    self.assertTrue(torch.equal(ours.cpu().float(), theirs.float()))

    def test_midpoints_and_saturation(self):
        edges = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0, -0.25, -0.75, -1.25, -1.75, -2.5, -3.5, -5.0,
                              0.1])[None]
        x = torch.cat([edges, edges.nextafter(torch.tensor(9.0)), edges.nextafter(torch.tensor(-9.0))])
        one = torch.tensor(1.0)
        for device in DEVICES:
            codes, scales, _ = torch.ops.thresher.quantize(x.to(device), one.to(device))
            host = thresher.quantize(x.numpy(), global_scale=None)
            self.assertEqual(codes.cpu().numpy().tolist(), host.codes.tolist())
            codes, _, _ = torch.ops.thresher.quantize(x.to(device) * 4096, one.to(device))
            self.assertEqual(codes[0, 3].item() >> 4, 7)  # beyond 6 * 448

    def test_what_it_refuses(self):
        for sentence, x in [("multiple of 16", torch.zeros(1, 17)), ("rows, k", torch.zeros(16)),
                            ("torch.int32", torch.zeros(1, 16, dtype=torch.int32)),
                            ("not contiguous", torch.zeros(16, 32).T)]:
            with self.assertRaisesRegex(thresher.Error, sentence):
                torch.ops.thresher.quantize(x)
        with self.assertRaisesRegex(thresher.Error, "row 0, column 3"):
            torch.ops.thresher.quantize(torch.tensor([[0.0] * 3 + [float("nan")] + [0.0] * 12]))
        x = torch.ones(2, 32)
        for sentence, scale in [(r"global_scale is torch.float32 of shape \(2,\)", torch.ones(2)),
                                ("global_scale is torch.int64", torch.tensor(1)),
                                ("global_scale = -1", torch.tensor(-1.0)),
                                ("global_scale (= 0.0|is 0)", torch.tensor(0.0)),
                                ("global_scale = nan is not in", torch.tensor(float("nan")))]:
            for quantize in (torch.ops.thresher.quantize, tt._device_quantize):
                with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                    quantize(x, scale)

    def test_what_a_gpu_cannot_refuse_is_a_global_scale_of_nan(self):
        """Nothing waits there, so nothing raises; what packs the matrix does."""
        x, nan = torch.ones(2, 32), float("nan")
        for values, scale in [(x.clone().index_fill_(1, torch.tensor(3), nan), None), (x * float("inf"), None),
                              (x.clone().index_fill_(1, torch.tensor(3), nan), 1.0), (x * float("inf"), 1.0),
                              (x, 0.0), (x, -1.0), (x, nan), (x, float("inf")), (x, 2.0**-126)]:
            with self.subTest(values=values[0, 3].item(), scale=scale):
                given = None if scale is None else torch.tensor(scale)
                with unittest.mock.patch.object(tt, "_given_on", lambda of_device, device: of_device):
                    codes, scales, global_scale = tt._device_quantize(values, given)
                self.assertTrue(global_scale.isnan())
                with self.assertRaisesRegex(thresher.Error, "global_scale = nan is not finite"):
                    tt.GroupedWeights([tt.matrix_of(codes, scales, global_scale.item())])


class Operators(unittest.TestCase):
    def test_opcheck(self):
        for device in DEVICES:
            grouped = tt.GroupedWeights([weight(8, 16), weight(8, 16, 1)], device=device)
            dual = tt.GroupedWeights([(weight(8, 16), weight(8, 16, 1))], device=device)
            a = tokens(3, 16, torch.bfloat16, device)
            torch.library.opcheck(torch.ops.thresher.gemm.default, (a, grouped.id, counts_of(1, 2, device=device)))
            torch.library.opcheck(torch.ops.thresher.dual.default, (a, dual.id), {"out_dtype": torch.float32})
            torch.library.opcheck(torch.ops.thresher.quantize.default, (a,))
            codes, scales, global_scale = torch.ops.thresher.quantize(a)
            torch.library.opcheck(torch.ops.thresher.quantize.default, (a, global_scale))
            rounded = tt.GroupedWeights([weight(8, 16)], device=device, activations=torch.uint8)
            # As bytes: opcheck cannot compare tensors of float8.
            torch.library.opcheck(torch.ops.thresher.gemm.default, (codes, rounded.id, None, scales.view(torch.uint8)))

    def test_compile(self):
        for device in DEVICES:
            layers = [tt.GroupedWeights([weight(32, 32, seed)], device=device) for seed in range(2)]

            def model(x):
                for layer in layers:
                    x = torch.relu(torch.ops.thresher.gemm(x * 2, layer.id))
                return x

            with self.subTest(device=device):
                torch._dynamo.reset()
                compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
                for rows in (3, 5, 1):
                    a = tokens(rows, 32, torch.bfloat16, device)
                    torch.testing.assert_close(compiled(a), model(a))

    @unittest.skipIf(shutil.which("g++") is None, "inductor has no compiler")
    def test_inductor(self):
        """Torch's own compiler calls our operators; with nothing to fuse between them it is done in seconds."""
        for device in DEVICES:
            gemm, (layer, _) = tt.GroupedWeights([weight(64, 64)], device=device), moe(device)
            x, (ids, weights) = tokens(5, 64, torch.bfloat16, device), routed(5, device)

            def model(x):
                return torch.ops.thresher.moe(torch.ops.thresher.gemm(x, gemm.id), ids, weights, layer.id)

            torch._dynamo.reset()
            torch.testing.assert_close(torch.compile(model, fullgraph=True)(x), model(x))

    def test_bad_input(self):
        for device in DEVICES:
            one = tt.GroupedWeights([weight(8, 16)], device=device)
            two = tt.GroupedWeights([weight(8, 16), weight(8, 16, 1)], device=device)
            codes = tt.GroupedWeights([weight(8, 16)], device=device, activations=torch.uint8)
            a = tokens(3, 16, torch.bfloat16, device)
            gemm = torch.ops.thresher.gemm
            for sentence, call in [
                    ("torch.float32 but the weights were packed for torch.bfloat16", lambda: gemm(a.float(), one.id)),
                    ("shape", lambda: gemm(a[:, :8].contiguous(), one.id)),
                    ("shape", lambda: gemm(a[0], one.id)),
                    (r"shape \(\)", lambda: gemm(a[0, 0], one.id)),
                    ("not contiguous", lambda: gemm(a.new_zeros(16, 3).T, one.id)),
                    ("no weights of id 999999", lambda: gemm(a, 999999)),
                    ("packed for gemm, not for dual", lambda: torch.ops.thresher.dual(a, one.id)),
                    ("no counts", lambda: gemm(a, two.id)),
                    ("counts is torch.int64", lambda: gemm(a, two.id, counts_of(1, 2, device=device).long())),
                    ("counts is torch.int32 of shape", lambda: gemm(a, two.id, counts_of(3, device=device))),
                    ("a_scales comes with NVFP4", lambda: gemm(a, one.id, None, a.view(torch.uint8))),
                    ("a_scales comes with NVFP4", lambda: gemm(a.new_zeros(3, 8, dtype=torch.uint8), codes.id)),
                    ("a_scales is", lambda: gemm(a.new_zeros(3, 8, dtype=torch.uint8), codes.id, None, a)),
                    ("out_dtype = torch.int8", lambda: gemm(a, one.id, out_dtype=torch.int8))]:
                with self.subTest(sentence, device=device), self.assertRaisesRegex(thresher.Error, sentence):
                    call()
        cpu = tt.GroupedWeights([weight(8, 16), weight(8, 16, 1)])
        with self.assertRaisesRegex(thresher.Error, "the counts sum to 4 but a has 3 rows"):
            torch.ops.thresher.gemm(tokens(3, 16, torch.bfloat16, "cpu"), cpu.id, counts_of(2, 2, device="cpu"))
        for sentence, arguments in [  # meta stands in for a GPU's
                ("a is on meta but the weights are on cpu", (tokens(3, 16, torch.bfloat16, "meta"), cpu.id)),
                ("counts is on meta but a is on cpu",
                 (tokens(3, 16, torch.bfloat16, "cpu"), cpu.id, counts_of(1, 2, device="meta")))]:
            for product in (tt._host_product, tt._device_product):
                with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                    product("gemm", *arguments)
        with self.assertRaisesRegex(thresher.Error, "groups differ"):
            tt.GroupedWeights([weight(8, 16), weight(8, 32)])
        with self.assertRaisesRegex(thresher.Error, "no engine for meta"):
            tt.engine("meta")
        with self.assertRaisesRegex(thresher.Error, "is none of"):
            tt.GroupedWeights([weight(8, 16)], activations=torch.float32)

    def test_a_fork_gets_engines_of_its_own(self):
        grouped, a = tt.GroupedWeights([weight(64, 64)]), tokens(3, 64, torch.bfloat16, "cpu")
        if tt.engine("cpu").thread_count < 2:
            self.skipTest("an engine of one thread needs nothing")
        expected = torch.ops.thresher.gemm(a, grouped.id)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            code = 1
            try:
                torch.ops.thresher.gemm(a, grouped.id)
            except thresher.Error as error:
                own = tt.GroupedWeights([grouped.weights[0].unpack()])
                same = torch.equal(torch.ops.thresher.gemm(a, own.id), expected)
                code = 0 if same and "before fork()" in str(error) else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_fork_while_an_engine_opens(self):
        """And while threads hold what calls take turns at: the child finds all of it free."""
        grouped, layer, a = tt.GroupedWeights([weight(64, 64)]), moe("cpu")[0], tokens(3, 64, torch.bfloat16, "cpu")
        x, (ids, weights) = a, routed(3, "cpu")
        opening, go = threading.Event(), threading.Event()

        def open_slowly(device):
            opening.set()
            go.wait(60)
            return thresher.Engine(threads=1)

        with unittest.mock.patch.dict(tt._engines, clear=True), \
                unittest.mock.patch.object(tt, "_open", open_slowly), grouped._turn, layer._turn, grouped.engine._turn:
            thread = threading.Thread(target=tt.engine, args=("cpu",))
            thread.start()
            opening.wait()
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                try:
                    tt._open = lambda device: thresher.Engine(threads=1)
                    own = tt.GroupedWeights([weight(64, 64)])
                    own_is_right = torch.ops.thresher.gemm(a, own.id).shape == (3, 64)
                    are_free = all(one._turn.acquire(timeout=5) for one in (grouped, layer, grouped.engine))
                    for of_32_bits in (True, False):
                        with self.assertRaisesRegex(thresher.Error, "before fork"):
                            torch.ops.thresher.moe(x, ids.int() if of_32_bits else ids, weights, layer.id)
                    os._exit(0 if own_is_right and are_free else 1)
                finally:
                    os._exit(2)
            go.set()
            thread.join()
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_second_copy_of_the_package(self):
        """Registers nothing over the first, which goes on."""
        folder = os.path.dirname(thresher.__file__)
        spec = importlib.util.spec_from_file_location("other", thresher.__file__, submodule_search_locations=[folder])
        sys.modules["other"] = importlib.util.module_from_spec(spec)
        self.addCleanup(lambda: [sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "other"])
        spec.loader.exec_module(sys.modules["other"])
        with self.assertRaisesRegex(ImportError, "another copy of thresher.torch"):
            importlib.import_module("other.torch")
        grouped = tt.GroupedWeights([weight(8, 16)])
        self.assertEqual(torch.ops.thresher.gemm(tokens(1, 16, torch.bfloat16, "cpu"), grouped.id).shape, (1, 8))

    def test_weights_go_with_their_last_reference(self):
        grouped = tt.GroupedWeights([weight(8, 16)])
        number = grouped.id
        torch.ops.thresher.gemm(tokens(1, 16, torch.bfloat16, "cpu"), number)
        del grouped
        gc.collect()
        with self.assertRaisesRegex(thresher.Error, "they must live"):
            torch.ops.thresher.gemm(tokens(1, 16, torch.bfloat16, "cpu"), number)


def moe(device, experts=4, top_k=2, tokens_max=8, dtype="bf16", shared=0):
    made = [thresher.Expert(weight(32, 64, 3 * seed), weight(32, 64, 3 * seed + 1), weight(64, 32, 3 * seed + 2))
            for seed in range(experts + shared)]
    made, common = made[:experts], made[experts:]
    layer = thresher.MoeLayer(tt.engine(device), made, shared=common, top_k=top_k, tokens_max=tokens_max, x=dtype)
    return tt.Moe(layer, device), made


def routed(rows, device, experts=4, top_k=2):
    generator = torch.Generator().manual_seed(3)
    return (torch.randint(experts, (rows, top_k), generator=generator).to(device),
            torch.rand(rows, top_k, generator=generator).to(device))


class Layers(unittest.TestCase):
    def expected(self, experts, x, ids, weights):
        out = torch.zeros(x.shape[0], 64, dtype=torch.float64)
        for token in range(x.shape[0]):
            for index, factor in zip(ids[token].tolist(), weights[token].tolist()):
                if 0 <= index < len(experts):
                    gate, up, down = (values_of(getattr(experts[index], name)) for name in ("gate", "up", "down"))
                    one = x[token].double().cpu()
                    out[token] += factor * (torch.nn.functional.silu(gate @ one) * (up @ one)) @ down.T
        return out

    def test_values(self):
        for device in DEVICES:
            layer, experts = moe(device)
            for rows in (0, 1, 8, 21):  # 21 in parts of 8
                with self.subTest(device=device, rows=rows):
                    x, (ids, weights) = tokens(rows, 64, torch.bfloat16, device), routed(rows, device)
                    out = torch.ops.thresher.moe(x, ids, weights, layer.id)
                    self.assertEqual((out.shape, out.dtype), ((rows, 64), torch.bfloat16))
                    if rows:
                        wanted = self.expected(experts, x, ids.cpu(), weights.cpu())
                        self.assertLess((out.double().cpu() - wanted).abs().max(), 1e-2 * wanted.abs().max())
                        again = torch.ops.thresher.moe(x, ids.int(), weights, layer.id)
                        self.assertTrue(torch.equal(again, out))

    def test_rows_may_be_far_apart(self):
        for device in DEVICES:
            layer, _ = moe(device)
            wide, (ids, weights) = tokens(5, 128, torch.bfloat16, device), routed(5, device)
            self.assertTrue(torch.equal(torch.ops.thresher.moe(wide[:, 64:], ids, weights, layer.id),
                                        torch.ops.thresher.moe(wide[:, 64:].contiguous(), ids, weights, layer.id)))

    def test_ids_that_are_nobodys(self):
        """Beyond int32 too: 2^32 is not expert 0."""
        for device in DEVICES:
            layer, _ = moe(device)
            x, (ids, weights) = tokens(3, 64, torch.bfloat16, device), routed(3, device)
            ids[0] = torch.tensor([2**32, 2**32 + 1])
            ids[1] = torch.tensor([-1, -2**40])
            out = torch.ops.thresher.moe(x, ids, weights, layer.id)
            self.assertEqual((out[:2].abs().sum().item(), out[2].abs().sum().item() > 0), (0, True))
            for dtype in (torch.uint64, torch.uint8, torch.bool):  # whose large ids could become small ones
                with self.assertRaisesRegex(thresher.Error, f"ids is of {dtype}; ids are int32 or int64"):
                    torch.ops.thresher.moe(x, ids.to(dtype), weights, layer.id)

    def test_opcheck_and_compile(self):
        for device in DEVICES:
            layer, _ = moe(device)
            x, (ids, weights) = tokens(5, 64, torch.bfloat16, device), routed(5, device)
            torch.library.opcheck(torch.ops.thresher.moe.default, (x, ids, weights, layer.id))
            with_shared, _ = moe(device, shared=1)
            torch.library.opcheck(torch.ops.thresher.moe.default,
                                  (x, ids, weights, with_shared.id, torch.ones(5, 1, device=device)))

            def model(x):
                return torch.ops.thresher.moe(torch.relu(x), ids, weights, layer.id) * 2

            torch._dynamo.reset()
            compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
            torch.testing.assert_close(compiled(x), model(x))

    def test_bad_input(self):
        call = torch.ops.thresher.moe
        for device in DEVICES:
            layer, _ = moe(device)
            x, (ids, weights) = tokens(3, 64, torch.bfloat16, device), routed(3, device)
            for sentence, arguments in [
                    ("x is of torch.float32 but the layer was made", (x.float(), ids, weights, layer.id)),
                    ("x has shape", (x[:, :32], ids, weights, layer.id)),
                    ("x has shape", (x[0], ids, weights, layer.id)),
                    (r"x has shape \(\)", (x[0, 0], ids, weights, layer.id)),
                    (r"ids has shape \(\)", (x, ids[0, 0], weights, layer.id)),
                    ("not contiguous", (x.new_zeros(64, 3).T, ids, weights, layer.id)),
                    ("ids has shape", (x, ids[:2], weights, layer.id)),
                    ("weights has shape", (x, ids, weights[:, :1], layer.id)),
                    ("ids is of torch.float32", (x, ids.float(), weights, layer.id)),
                    ("weights is of torch.int64", (x, ids, ids, layer.id)),
                    ("shared_weights has shape", (x, ids, weights, layer.id, weights)),
                    ("no layer of id 999999", (x, ids, weights, 999999))]:
                with self.subTest(sentence, device=device), self.assertRaisesRegex(thresher.Error, sentence):
                    call(*arguments)
        if "cuda" in DEVICES:
            for sentence, arguments in [("x is on cpu but the layer is on cuda:0", (x.cpu(), ids.cpu(), weights.cpu())),
                                        ("ids has shape .* on cpu instead of", (x, ids.cpu(), weights)),
                                        ("weights has shape .* on cpu instead of", (x, ids, weights.cpu()))]:
                with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                    call(*arguments, layer.id)
        layer, _ = moe("cpu", shared=1)
        for place, sentence in enumerate(("x is on meta but the layer is on cpu", "ids has shape .* on meta instead of",
                                          "weights has shape .* on meta", "shared_weights has shape .* on meta")):
            arguments = [tokens(3, 64, torch.bfloat16, "cpu"), *routed(3, "cpu"), torch.ones(3, 1)]
            arguments[place] = arguments[place].to("meta")  # stands in for a GPU's
            with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                tt._moe(*arguments[:3], layer.id, arguments[3])
        own = thresher.Engine(threads=1)
        with self.assertRaisesRegex(thresher.Error, "belongs to"):
            tt.Moe(thresher.MoeLayer(own, moe("cpu")[1], top_k=2), "cpu")


def missed(*arguments, **options):
    raise AssertionError("nobody saw an operator")


class Functions(unittest.TestCase):
    """tt.gemm, dual and moe do without an operator, but for those who have to see one."""

    def setUp(self):
        self.layer, _ = moe("cpu", shared=1)
        self.x, (self.ids, self.weights) = tokens(5, 64, torch.bfloat16, "cpu"), routed(5, "cpu")
        self.grouped = tt.GroupedWeights([weight(40, 64, seed) for seed in range(2)])
        self.pairs = tt.GroupedWeights([(weight(40, 64, 1), weight(40, 64, 2))])
        self.calls = {
            "moe": lambda of: of.moe(self.x, self.ids, self.weights, self.layer.id),
            "moe with shared weights": lambda of: of.moe(self.x, self.ids, self.weights, self.layer.id,
                                                         torch.full((5, 1), 0.5)),
            "gemm": lambda of: of.gemm(self.x, self.grouped.id, counts_of(2, 3, device="cpu"),
                                       out_dtype=torch.float32),
            "dual": lambda of: of.dual(self.x, self.pairs.id)}

    def test_they_compute_the_same(self):
        for name, call in self.calls.items():
            with self.subTest(name):
                self.assertTrue(torch.equal(call(tt), call(torch.ops.thresher)))
        with self.assertRaisesRegex(thresher.Error, "x is of torch.float32 but"):
            tt.moe(self.x.float(), self.ids, self.weights, self.layer.id)
        with self.assertRaisesRegex(thresher.Error, "there are no weights of id 0"):
            tt.gemm(self.x, 0)

    def test_a_compiler_sees_operators(self):
        for name, call in self.calls.items():
            compiled = torch.compile(lambda call=call: call(tt) * 2, fullgraph=True, backend="eager")
            with self.subTest(name):
                self.assertTrue(torch.equal(compiled(), call(tt) * 2))

    def test_who_looks_on_sees_operators(self):
        expected = {name: call(tt) for name, call in self.calls.items()}
        x = self.x
        with unittest.mock.patch.multiple(tt, _moe=missed, _host_product=missed):
            for name, call in self.calls.items():
                with self.subTest(name), self.assertRaisesRegex(AssertionError, "nobody saw"):
                    call(tt)
                for watcher in (torch.device("cpu"), FlopCounterMode(display=False), torch.profiler.profile()):
                    with self.subTest(name), watcher:
                        self.assertTrue(torch.equal(call(tt), expected[name]))
                traced = torch.jit.trace(lambda ones: call(tt) * ones, torch.ones(1), check_trace=False)
                with self.subTest(name):
                    self.assertIn("thresher::", str(traced.graph))
                self.x = torch.nn.Parameter(x, requires_grad=False)
                with self.subTest(name):
                    self.assertTrue(torch.equal(call(tt), expected[name]))
                self.x = x
            with FakeTensorMode() as mode, self.assertRaisesRegex(thresher.Error, "there is no layer of id 0"):
                tt.moe(*(mode.from_tensor(one) for one in (x, self.ids, self.weights)), 0)


class Emulated(unittest.TestCase):
    """What runs for CUDA tensors, where the device is the emulator and streams are stand-ins."""

    def setUp(self):
        cpu = torch.device("cpu")
        stream = types.SimpleNamespace(cuda_stream=0)
        for target, name, value in ((tt, "_engines", {cpu: thresher.Engine("emulator")}),
                                    (torch.cuda, "current_stream", lambda device: stream),
                                    (torch.cuda, "is_current_stream_capturing", lambda: False),
                                    (torch._C, "_cuda_getCurrentRawStream", lambda index: 0)):
            patch = unittest.mock.patch.object(target, name, value, create=True)
            patch.start()
            self.addCleanup(patch.stop)
        self.stream = stream

    def test_products_of_groups(self):
        matrices = [weight(40, 64, seed) for seed in range(3)]
        grouped = tt.GroupedWeights(matrices)
        for rows, counts in ((9, (4, 0, 5)), (3, (0, 3, 0)), (20, (1, 2, 17))):
            a = tokens(rows, 64, torch.bfloat16, "cpu")
            c = tt._device_product("gemm", a, grouped.id, counts_of(*counts, device="cpu"), out_dtype=torch.float32)
            expected = torch.cat([part @ values_of(m).T for part, m in zip(a.double().split(counts), matrices)])
            self.assertLess((c - expected).abs().max(), 1e-3)
        self.assertEqual(sorted(bucket for bucket, _ in grouped._ready), [16, 32])

    def test_one_group(self):
        gate, up = weight(40, 64, 1), weight(40, 64, 2)
        grouped = tt.GroupedWeights([(gate, up)])
        for rows in (5, 1, 0):
            a = tokens(rows, 64, torch.bfloat16, "cpu")
            c = tt._device_product("dual", a, grouped.id, out_dtype=torch.float32)
            exact = torch.nn.functional.silu(a.double() @ values_of(gate).T) * (a.double() @ values_of(up).T)
            torch.testing.assert_close(c.double(), exact, rtol=1e-3, atol=1e-3)

    def test_a_capture_without_a_first_call_says_so(self):
        grouped = tt.GroupedWeights([weight(40, 64)])
        with unittest.mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: True):
            with self.assertRaisesRegex(thresher.Error, "was not called before this capture"):
                tt._device_product("gemm", tokens(3, 64, torch.bfloat16, "cpu"), grouped.id)

    def test_after_a_capture_counts_are_said_in_every_call(self):
        """A graph that is replayed leaves its own counts behind."""
        grouped, a = tt.GroupedWeights([weight(40, 64)]), tokens(3, 64, torch.bfloat16, "cpu")
        self.stream.cuda_stream = 7
        with unittest.mock.patch.object(torch._C, "_cuda_getCurrentRawStream", lambda index: 7, create=True):
            expected = tt._device_product("gemm", a, grouped.id)
            call, = grouped._ready.values()
            call.counts.zero_()
            tt._device_product("gemm", a, grouped.id)
            self.assertEqual(call.counts.item(), 0)  # nobody says again what is known
            with unittest.mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: True):
                tt._device_product("gemm", a, grouped.id)
            call.counts.zero_()
            self.assertTrue(torch.equal(tt._device_product("gemm", a, grouped.id), expected))

    def test_a_default_stream_is_not_asked_whether_it_captures(self):
        grouped, a = tt.GroupedWeights([weight(40, 64)]), tokens(3, 64, torch.bfloat16, "cpu")
        expected = tt._device_product("gemm", a, grouped.id)
        with unittest.mock.patch.object(torch.cuda, "is_current_stream_capturing", None):
            self.assertTrue(torch.equal(tt._device_product("gemm", a, grouped.id), expected))

    def test_layers(self):
        layer, _ = moe("cpu")
        layer.stream = self.stream
        x, (ids, weights) = tokens(11, 64, torch.bfloat16, "cpu"), routed(11, "cpu")
        emulated = tt._moe(x, ids, weights, layer.id)
        tt._engines.clear()
        host, _ = moe("cpu")
        torch.testing.assert_close(emulated, tt._moe(x, ids, weights, host.id), rtol=2e-2, atol=2e-2)


class Stream:
    """A stand-in that writes down who waits for whom, and takes its time."""

    def __init__(self, handle, said):
        self.cuda_stream, self.said = handle, said

    def wait_stream(self, other):
        time.sleep(0.001)
        self.said.append((self.cuda_stream, "after", other.cuda_stream))


class Order(unittest.TestCase):
    """Calls of one layer from threads with streams of their own, on a device whose queue is a list."""

    def test_every_call_waits_for_the_one_before(self):
        said, mine = [], threading.local()
        layer, _ = moe("cpu")
        layer.stream = Stream(0, said)
        x, (ids, weights) = tokens(3, 64, torch.bfloat16, "cpu"), routed(3, "cpu")

        def work(number):
            mine.stream = Stream(number, said)
            for _ in range(10):
                tt._moe(x, ids.int(), weights, layer.id)
                tt._moe(x, ids, weights, layer.id)  # the longer way

        with contextlib.ExitStack() as patches:
            for target, name, value in (
                    (torch.cuda, "current_stream", lambda device: mine.stream),
                    (torch.cuda, "is_current_stream_capturing", lambda: False),
                    (torch._C, "_cuda_getCurrentRawStream", lambda index: mine.stream.cuda_stream),
                    (tt, "_enqueue", lambda handle, tokens, stream: said.append(stream)),
                    (tt, "_enqueue_tokens", lambda *arguments: said.append(arguments[-1]))):
                patches.enter_context(unittest.mock.patch.object(target, name, value, create=True))
            threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 3)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        self.assertEqual(sum(isinstance(one, int) for one in said), 60)
        last, waited = 0, None
        for one in said:
            if isinstance(one, tuple):
                waited = one
                continue
            if one != last:
                self.assertEqual(waited, (one, "after", last))
            last, waited = one, None


if __name__ == "__main__":
    unittest.main()
