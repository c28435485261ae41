# SPDX-License-Identifier: Apache-2.0
"""The package with numpy: values against a definition written here, and what callers can get wrong."""
import concurrent.futures
import copy
import doctest
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import thresher
import thresher._arrays
import thresher.engine
import thresher.moe
import thresher.nvfp4

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float64)


def e4m3(codes):
    """The definition, for codes without NaN."""
    codes = codes.astype(np.int64)
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    values = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0**(exponent - 7))
    return np.where(codes & 0x80, -values, values)


def values_of(matrix):
    """What an NVFP4 matrix stands for, in float64."""
    nibbles = np.stack([matrix.codes & 15, matrix.codes >> 4], axis=-1).reshape(matrix.codes.shape[0], -1)
    signed = E2M1[nibbles & 7] * np.where(nibbles & 8, -1, 1)
    return signed * np.repeat(e4m3(matrix.scales), 16, axis=1) * float(np.float32(matrix.global_scale))


def random(*shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def silu(values):
    return values / (1 + np.exp(-values))


ENGINE = thresher.Engine(threads=2)


class Numbers(unittest.TestCase):
    def test_dequantize_is_the_definition(self):
        matrix = thresher.quantize(random(5, 64))
        np.testing.assert_array_equal(matrix.dequantize(), values_of(matrix).astype(np.float32))
        self.assertLess(np.abs(matrix.dequantize() - random(5, 64)).max(), 0.6)

    def test_all_types_round_alike(self):
        values = thresher.from_bf16(thresher.to_bf16(np.clip(random(3, 32), -4, 4).round(2)))
        values = values.astype(np.float16).astype(np.float32)
        values = thresher.from_bf16(thresher.to_bf16(values))
        of_float = thresher.quantize(values)
        for other in (values.astype(np.float16), thresher.to_bf16(values)):
            np.testing.assert_array_equal(thresher.quantize(other).codes, of_float.codes)

    def test_a_given_global_scale(self):
        values = random(3, 64)
        own = thresher.quantize(values)
        given = thresher.quantize(values, global_scale=own.global_scale)
        self.assertEqual(given.global_scale, own.global_scale)
        np.testing.assert_array_equal(given.codes, own.codes)
        self.assertEqual(thresher.quantize(values, global_scale=1e-6).dequantize().max(), np.float32(2688 * 1e-6))
        for bad in (-1.0, float("nan")):
            with self.assertRaises(thresher.Error):
                thresher.quantize(values, global_scale=bad)

    def test_bf16_rounds_to_even_and_keeps_what_is_special(self):
        bits = np.uint32([0x3F808000, 0x3F818000, 0x3F808001, 0x7F800000, 0xFF800000, 0x7F800001, 0x7F7FFFFF])
        expected = [0x3F80, 0x3F82, 0x3F81, 0x7F80, 0xFF80, 0x7FC0, 0x7F80]
        self.assertEqual(thresher.to_bf16(bits.view(np.float32)).tolist(), expected)

    def test_gemm_of_groups(self):
        counts, n, k = [3, 0, 5], 24, 64
        matrices = [thresher.quantize(random(n, k, seed=seed)) for seed in range(3)]
        packed = [ENGINE.pack(matrix) for matrix in matrices]
        a32 = random(8, k, seed=9)
        for a in (a32.astype(np.float16), thresher.to_bf16(a32), thresher.quantize(a32)):
            exact = (values_of(a) if isinstance(a, thresher.Matrix) else
                     a.astype(np.float64) if a.dtype == np.float16 else thresher.from_bf16(a).astype(np.float64))
            expected = np.concatenate([exact[:3] @ values_of(matrices[0]).T, 2 * exact[3:] @ values_of(matrices[2]).T])
            c = ENGINE.gemm(a, packed, counts, alpha=[1, 1, 2])
            np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-4)
            half = ENGINE.gemm(a, packed, counts, alpha=[1, 1, 2], output="fp16")
            np.testing.assert_array_equal(half, c.astype(np.float16))
            bits = ENGINE.gemm(a, packed, counts, alpha=[1, 1, 2], output="bf16")
            np.testing.assert_array_equal(bits, thresher.to_bf16(c))

    def test_dual(self):
        gate, up = thresher.quantize(random(8, 32, seed=1)), thresher.quantize(random(8, 32, seed=2))
        a = random(4, 32, seed=3).astype(np.float16)
        c = ENGINE.dual(a, ENGINE.pack(gate, up), alpha=0.5, alpha_up=3.0)
        exact = a.astype(np.float64)
        expected = silu(exact @ values_of(gate).T * 0.5) * (exact @ values_of(up).T * 3)
        np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-4)

    def test_weights_come_back(self):
        gate, up = thresher.quantize(random(8, 48, seed=1)), thresher.quantize(random(8, 48, seed=2))
        for ours, theirs in zip(ENGINE.pack(gate, up).unpack(), (gate, up)):
            np.testing.assert_array_equal(ours.codes, theirs.codes)
            np.testing.assert_array_equal(ours.scales, theirs.scales)
            self.assertEqual(ours.global_scale, theirs.global_scale)

    def test_rows_of_out_may_be_far_apart(self):
        packed, a = ENGINE.pack(thresher.quantize(random(8, 16))), random(3, 16).astype(np.float16)
        wide = np.full((3, 20), -1, np.float32)
        result = ENGINE.gemm(a, packed, out=wide[:, 4:12])
        self.assertTrue(np.shares_memory(result, wide))
        np.testing.assert_array_equal(wide[:, 4:12], ENGINE.gemm(a, packed))
        self.assertTrue((wide[:, :4] == -1).all() and (wide[:, 12:] == -1).all())

    def test_no_rows(self):
        packed = ENGINE.pack(thresher.quantize(random(8, 16)))
        self.assertEqual(ENGINE.gemm(np.empty((0, 16), np.float16), packed).shape, (0, 8))

    def test_read_only_inputs_are_welcome(self):
        matrix = thresher.quantize(random(8, 16))
        matrix.codes.flags.writeable = matrix.scales.flags.writeable = False
        a = random(2, 16).astype(np.float16)
        a.flags.writeable = False
        self.assertEqual(ENGINE.gemm(a, ENGINE.pack(matrix)).shape, (2, 8))

    def test_the_emulator_computes_the_same(self):
        emulator = thresher.Engine("emulator")
        matrix, a = thresher.quantize(random(64, 64)), random(3, 64).astype(np.float16)
        c = emulator.gemm(a, emulator.pack(matrix, activations="fp16"))
        np.testing.assert_allclose(c, ENGINE.gemm(a, ENGINE.pack(matrix)), rtol=1e-4, atol=1e-4)

    def test_a_plan_by_name(self):
        plan = ENGINE.plan([(2, 8, 16)], activations="fp16", variant="cpu_portable")
        self.assertEqual(plan.variant, "cpu_portable")
        self.assertIn("cpu_portable", ENGINE.variants)
        packed, a = ENGINE.pack(thresher.quantize(random(8, 16))), random(2, 16).astype(np.float16)
        np.testing.assert_allclose(ENGINE.run(plan, a, packed), ENGINE.gemm(a, packed), rtol=1e-5, atol=1e-5)

    def test_docstrings(self):
        names = {"np": np, "quantize": thresher.quantize}
        for module in (thresher._arrays, thresher.nvfp4, thresher.engine, thresher.moe):
            with self.subTest(module.__name__):
                result = doctest.testmod(module, extraglobs=names)
                self.assertEqual((result.failed, result.attempted > 0), (0, True))


class BadInput(unittest.TestCase):
    """Each is an exception whose sentence says what is wrong."""

    def setUp(self):
        self.weights = ENGINE.pack(thresher.quantize(random(8, 16)))
        self.dual = ENGINE.pack(thresher.quantize(random(8, 16)), thresher.quantize(random(8, 16)))
        self.a = random(2, 16).astype(np.float16)

    def refused(self, sentence, call, *arguments, **options):
        with self.assertRaisesRegex(thresher.Error, sentence):
            call(*arguments, **options)

    def test_activations(self):
        for sentence, a in [
                ("a is a list", [[1.0] * 16]),
                ("a has 1 dimensions", self.a[0]),
                ("a is not contiguous", random(16, 2).astype(np.float16).T),
                ("a is not contiguous", random(4, 16).astype(np.float16)[::2]),
                ("a is of float64", self.a.astype(np.float64)),
                ("a is of int32", self.a.astype(np.int32)),
                ("a is of float32; activations are", self.a.astype(np.float32)),
                ("the other byte order", self.a.astype(">f2")),
                (r"shape \(2, 32\) instead of \(2, 16\)", random(2, 32).astype(np.float16)),
                (r"a's codes has shape \(2, 16\)", thresher.quantize(random(2, 32)))]:
            with self.subTest(sentence):
                self.refused(sentence, ENGINE.gemm, a, self.weights)

    def test_outputs(self):
        read_only = np.empty((2, 8), np.float32)
        read_only.flags.writeable = False
        shared = np.zeros((2, 16), np.float16)
        same_row = np.lib.stride_tricks.as_strided(np.empty(8, np.float32), (2, 8), (0, 4))
        for sentence, out in [
                ("out is read-only", read_only),
                ("out is a list", []),
                (r"out has shape \(8, 2\)", np.empty((8, 2), np.float32)),
                ("out is of float64", np.empty((2, 8))),
                ("values in a row of out are 8 bytes apart", np.empty((2, 16), np.float32)[:, ::2]),
                ("rows of out are -32 bytes apart", np.empty((2, 8), np.float32)[::-1]),
                ("rows of out are 0 bytes apart", same_row)]:
            with self.subTest(sentence):
                self.refused(sentence, ENGINE.gemm, self.a, self.weights, out=out)
        self.refused("out overlaps a", ENGINE.gemm, shared, self.weights, output="fp16", out=shared[:, 8:])

    def test_groups(self):
        pair = [self.weights, self.weights]
        other = ENGINE.pack(thresher.quantize(random(9, 16)))
        for sentence, weights, counts in [
                ("no counts", pair, None), ("2 groups but 1 counts", pair, [2]), ("sum to 3", pair, [1, 2]),
                ("differ in", [self.weights, other], [1, 1]), ("packed for dual", self.dual, None),
                ("are a int", [3], [2]), ("m = -1", pair, [3, -1]), ("0 groups", [], [])]:
            with self.subTest(sentence):
                self.refused(sentence if sentence != "0 groups" else "", ENGINE.gemm, self.a, weights, counts)
        self.refused("packed for gemm", ENGINE.dual, self.a, self.weights)
        self.refused("alpha has 3 values", ENGINE.gemm, self.a, pair, [1, 1], alpha=[1, 2, 3])
        self.refused("alpha", ENGINE.gemm, self.a, self.weights, alpha=float("nan"))
        self.refused("output = 'int8' is none of fp16, bf16, fp32", ENGINE.gemm, self.a, self.weights, output="int8")

    def test_matrices(self):
        codes, scales = np.zeros((2, 8), np.uint8), np.zeros((2, 1), np.uint8)
        for sentence, arguments in [
                ("codes is of int8", (codes.astype(np.int8), scales)),
                (r"scales has shape \(2, 2\)", (codes, np.zeros((2, 2), np.uint8))),
                ("7 bytes per row", (codes[:, :7].copy(), scales)),
                ("codes is not contiguous", (codes[:, ::2], scales))]:
            with self.subTest(sentence):
                self.refused(sentence, thresher.Matrix, *arguments)
        self.refused("NaN", ENGINE.pack, thresher.Matrix(codes, np.full((2, 1), 0x7F, np.uint8)))
        self.refused("b is a int", ENGINE.pack, 3)
        for values in (np.float32([[np.nan] * 16]), np.float32([[np.inf] * 16])):
            self.refused("row 0, column 0", thresher.quantize, values)
        self.refused("values is of float64", thresher.quantize, np.zeros((1, 16)))
        self.refused("neither 'amax' nor None nor", thresher.quantize, random(1, 16), global_scale="max")

    def test_numbers_and_words(self):
        """Each would be cut off by ctypes, or is an exception that is not ours."""
        plan, buffer = ENGINE.plan([(2, 8, 16)], activations="fp16"), thresher.Buffer(ENGINE, 64)
        big, tiny = 2**64 + 2, random(1, 16)
        for sentence, call in [
                ("group 0: m = 18446744073709551618 is not between", lambda: ENGINE.plan([(big, 8, 16)])),
                ("group 1: k = 16.5 is a float, not a whole", lambda: ENGINE.plan([(2, 8, 16), (2, 8, 16.5)])),
                ("group 0: m = 2.9 is a float", lambda: ENGINE.plan([(2.9, 8, 16)])),
                (r"group 0 = \(2, 8\) is not \(m, n, k\)", lambda: ENGINE.plan([(2, 8)])),
                ("group 0 = 2 is not", lambda: ENGINE.plan([2, 8, 16])),
                ("tokens_max = 18446744073709551618", lambda: ENGINE.plan([(2, 8, 16)], tokens_max=big)),
                ("variant = None is a NoneType, not a text", lambda: ENGINE.plan([(2, 8, 16)], variant=None)),
                ("op = None is none of gemm, dual", lambda: ENGINE.plan([(2, 8, 16)], op=None)),
                (r"output = \[\] is none of", lambda: ENGINE.plan([(2, 8, 16)], output=[])),
                ("group 0: count = 1.9 is a float", lambda: ENGINE.gemm(self.a, self.weights, counts=[1.9])),
                ("group 0: count = '2' is a str", lambda: ENGINE.gemm(self.a, self.weights, counts=["2"])),
                ("alpha = 'x' is not a number", lambda: ENGINE.gemm(self.a, self.weights, alpha="x")),
                ("alpha = '1' is not a number", lambda: ENGINE.gemm(self.a, self.weights, alpha="1")),
                ("alpha = None is not", lambda: ENGINE.gemm(self.a, self.weights, alpha=[None])),
                ("alpha = 1000.* is not", lambda: ENGINE.gemm(self.a, self.weights, alpha=[10**400])),
                ("factors of 2 groups", lambda: ENGINE.run(plan, self.a, self.weights, factors=[(1, 1)] * 2)),
                ("alpha_up = 'x'", lambda: ENGINE.run(plan, self.a, self.weights, factors=[(1, "x")])),
                ("plan is a str, not a thresher.Plan", lambda: ENGINE.run("gemm", self.a, self.weights)),
                ("threads = 4294967297 is not between", lambda: thresher.Engine(threads=2**32 + 1)),
                ("threads = 1.5 is a float", lambda: thresher.Engine(threads=1.5)),
                ("device = 3 is a int, not a text", lambda: thresher.Engine(3)),
                ("device = b'cpu.*' has a NUL inside", lambda: thresher.Engine("cpu\0gpu")),
                ("emulator_seed = -1 is not between 0", lambda: thresher.Engine("emulator", emulator_seed=-1)),
                ("plan_file = 3 is a int, not a path", lambda: thresher.Engine(plan_file=3)),
                ("cache_folder = .* has a NUL", lambda: thresher.Engine(cache_folder="/tmp\0/x")),
                ("compiler_folders = .* has a NUL", lambda: thresher.Engine(compiler_folders=["\0"])),
                ("nbytes = -1 is not between 0", lambda: thresher.Buffer(ENGINE, -1)),
                ("nbytes = 18446744073709551618", lambda: thresher.Buffer(ENGINE, big)),
                ("cannot allocate 18446744073709551615 bytes", lambda: thresher.Buffer(ENGINE, 2**64 - 1)),
                ("engine is a str", lambda: thresher.Buffer("cpu", 1)),
                ("offset = -1", lambda: buffer.copy_in(self.a, -1)),
                ("does not fit a buffer of 64 bytes", lambda: buffer.copy_in(self.a, 2**64 - 1)),
                ("offset = 18446744073709551616", lambda: buffer.copy_out(self.a, 2**64)),
                ("global_scale = 'x' is not a number", lambda: thresher.Matrix(*self.nothing(), "x")),
                ("global_scale = .* is not a number", lambda: thresher.quantize(tiny, np.ones(2))),
                ("global_scale = {} is not a number", lambda: thresher.quantize(tiny, {}))]:
            with self.subTest(sentence), self.assertRaisesRegex(thresher.Error, sentence):
                call()
        self.assertEqual(ENGINE.gemm(self.a, self.weights, np.int64([2]), alpha=np.float32(1)).shape, (2, 8))

    def nothing(self):
        return np.zeros((2, 8), np.uint8), np.zeros((2, 1), np.uint8)

    def test_handles_are_neither_copied_nor_pickled(self):
        plan, buffer = ENGINE.plan([(2, 8, 16)], activations="fp16"), thresher.Buffer(ENGINE, 8)
        for one in (ENGINE, self.weights, plan, buffer):
            for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
                self.refused(f"{type(one).__name__} is neither copied nor pickled: use this one", duplicate, one)

    def test_matrices_are_copied_and_pickled(self):
        matrix = thresher.quantize(random(4, 32))
        for duplicate in (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
            again = duplicate(matrix)
            np.testing.assert_array_equal(again.dequantize(), matrix.dequantize())
            self.assertEqual(again._view.codes, again.codes.ctypes.data)

    def test_a_matrix_is_what_the_library_sees(self):
        matrix = thresher.Matrix(*self.nothing())
        for name, value in (("codes", np.ones((2, 8), np.uint8)), ("scales", np.ones((2, 1), np.uint8)),
                            ("global_scale", 2.0)):
            with self.assertRaises(AttributeError):
                setattr(matrix, name, value)

    def test_a_plan_file_is_used_or_says_why_not(self):
        self.assertEqual(ENGINE.plan_note, "")
        machine = {"backend": "cpu", "device": "abacus", "threads": 2, "version": "0"}
        plan = {"thresher_plan": 2, "machines": [{"machine": machine, "entries": []}]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            with open(path, "w") as file:
                json.dump(plan, file)
            self.assertIn("is not used: it is of device abacus", thresher.Engine(threads=2, plan_file=path).plan_note)
            with open(path, "w") as file:
                file.write("{")
            with self.assertRaisesRegex(thresher.Error, "it is not JSON"):
                thresher.Engine(threads=2, plan_file=path)

    def test_engines(self):
        self.refused("tpu", thresher.Engine, "tpu")
        self.refused("", thresher.Engine, threads=-1)
        self.refused("no_such", ENGINE.plan, [(1, 16, 16)], variant="no_such")
        other = thresher.Engine(threads=1)
        plan = other.plan([(2, 8, 16)], activations="fp16")
        self.refused("threads", ENGINE.run, plan, self.a, self.weights)
        self.refused("but the plan is for fp16", ENGINE.run, plan, thresher.quantize(random(2, 16)), self.weights)
        emulator = thresher.Engine("emulator")
        self.refused("", emulator.gemm, self.a, self.weights)  # packed for the CPU

    def test_what_an_engine_says_of_itself(self):
        self.assertEqual((ENGINE.device, ENGINE.thread_count, thresher.Engine(threads=1).thread_count), ("cpu", 2, 1))
        self.assertIn("2 threads", ENGINE.description)
        plan = ENGINE.plan([(2, 8, 16)])
        self.assertGreater(plan.workspace_bytes, 0)
        self.assertEqual(plan.tokens_max, 2)
        self.assertGreater(ENGINE.pack(thresher.quantize(random(8, 16))).nbytes, 8 * 16 // 2)
        ENGINE.synchronize()

    def test_failures_leave_the_engine_usable(self):
        before = ENGINE.gemm(self.a, self.weights)
        for _ in range(3):
            self.refused("sum to", ENGINE.gemm, self.a, self.weights, [7])
        np.testing.assert_array_equal(ENGINE.gemm(self.a, self.weights), before)


class Processes(unittest.TestCase):
    def test_calls_give_the_lock_back(self):
        """While one long call computes, Python goes on in another thread."""
        emulator = thresher.Engine("emulator")
        packed = emulator.pack(thresher.quantize(random(512, 512)), activations="fp16")
        a, ticks, done = random(64, 512).astype(np.float16), [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.001)

        plan = emulator.plan([(64, 512, 512)], activations="fp16")
        plan._workspaces.append(plan._take_workspace())
        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.perf_counter()
        emulator.run(plan, a, packed)
        end = time.perf_counter()
        done.set()
        thread.join()
        inside = [tick for tick in ticks if begin + 0.1 * (end - begin) < tick < end - 0.1 * (end - begin)]
        self.assertGreater(len(inside), 2, f"{end - begin} s")

    def test_many_threads(self):
        matrix = thresher.quantize(random(32, 64))
        packed, a = ENGINE.pack(matrix), random(5, 64).astype(np.float16)
        expected = ENGINE.gemm(a, packed)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda rows: ENGINE.gemm(a[:rows], packed), [1, 2, 3, 4, 5] * 40))
        for result in results:
            np.testing.assert_array_equal(result, expected[:len(result)])

    def test_a_fork_is_told_to_make_its_own(self):
        packed, a = ENGINE.pack(thresher.quantize(random(8, 16))), random(2, 16).astype(np.float16)
        expected = ENGINE.gemm(a, packed)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            code = 1
            try:
                ENGINE.gemm(a, packed)
            except thresher.Error as error:
                own = thresher.Engine(threads=2)
                same = np.array_equal(own.gemm(a, own.pack(thresher.quantize(random(8, 16)))), expected)
                code = 0 if "before fork()" in str(error) and same else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        np.testing.assert_array_equal(ENGINE.gemm(a, packed), expected)

    def test_an_interpreter_ends_well_after_a_fork(self):
        """A child that runs its exit handlers destroys what its parent made."""
        script = ("import os, thresher, numpy as np\n"
                  "e = thresher.Engine(threads=2); w = e.pack(thresher.quantize(np.ones((8, 16), np.float32)))\n"
                  "e.gemm(np.ones((1, 16), np.float16), w)\n"
                  "if os.fork() == 0:\n    raise SystemExit(0)\n"
                  "assert os.wait()[1] == 0\n")
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)

    def test_two_copies_of_the_library(self):
        """A second copy, of package and library, keeps to itself."""
        script = (
            "import importlib.util, os, shutil, sys, tempfile, pathlib, numpy as np, thresher\n"
            "path = pathlib.Path(tempfile.mkdtemp()) / 'libthresher.so'\n"
            "shutil.copy(thresher._c.library_path(), path); os.environ['THRESHER_LIBRARY'] = str(path)\n"
            "spec = importlib.util.spec_from_file_location('other', thresher.__file__,\n"
            "    submodule_search_locations=[os.path.dirname(thresher.__file__)])\n"
            "other = importlib.util.module_from_spec(spec); sys.modules['other'] = other\n"
            "spec.loader.exec_module(other)\n"
            "assert other._c.lib._handle != thresher._c.lib._handle\n"
            "x, w = np.ones((1, 16), np.float16), np.ones((8, 16), np.float32)\n"
            "one, two = thresher.Engine(), other.Engine()\n"
            "a, b = one.pack(thresher.quantize(w)), two.pack(other.quantize(w))\n"
            "assert (one.gemm(x, a) == two.gemm(x, b)).all()\n"
            "try:\n    one.gemm(x, b)\n"
            "except thresher.Error as error:\n    assert 'not a thresher.Weights' in str(error) , error\n"
            "else:\n    raise SystemExit('mixed')\n")
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)

    def test_a_missing_library_says_what_to_do(self):
        environment = {**os.environ, "THRESHER_LIBRARY": "/nowhere/libthresher.so"}
        done = subprocess.run([sys.executable, "-c", "import thresher"], env=environment, capture_output=True,
                              text=True)
        self.assertIn("no libthresher.so: looked for /nowhere/libthresher.so", done.stderr)

    def test_nothing_is_kept(self):
        """Handles go with their last reference, engines with what was made of them."""
        import weakref
        engine = thresher.Engine(threads=1)
        packed = engine.pack(thresher.quantize(random(8, 16)))
        engine.gemm(random(2, 16).astype(np.float16), packed)
        watched = [weakref.ref(engine), weakref.ref(packed)]
        del engine, packed
        gc.collect()
        self.assertEqual([one() for one in watched], [None, None])


if __name__ == "__main__":
    unittest.main()
