# SPDX-License-Identifier: Apache-2.0
"""The package with numpy on a GPU: arrays are copied there and back."""
import functools
import subprocess
import sys
import unittest

import numpy as np

import thresher
from test_numpy import ENGINE, random


@functools.cache
def gpu():
    return thresher.Engine("gpu")


def setUpModule():
    try:
        gpu()
    except thresher.Error as error:
        raise unittest.SkipTest(str(error)) from None


class Gpu(unittest.TestCase):
    """The same arrays, copied to a GPU and back."""

    def test_products(self):
        gate, up = (thresher.quantize(random(64, 64, seed=seed)) for seed in range(2))
        a32, wide = random(7, 64, seed=2), np.zeros((7, 80), np.float32)
        for a, kind in ((a32.astype(np.float16), "fp16"), (thresher.to_bf16(a32), "bf16"),
                        (thresher.quantize(a32), "nvfp4")):
            with self.subTest(kind):
                pair = [gpu().pack(matrix, activations=kind) for matrix in (gate, up)]
                c = gpu().gemm(a, pair, [3, 4], out=wide[:, 8:72])
                host = ENGINE.gemm(a, [ENGINE.pack(gate), ENGINE.pack(up)], [3, 4])
                np.testing.assert_allclose(c, host, rtol=1e-4, atol=1e-4)
                both = gpu().dual(a, gpu().pack(gate, up, activations=kind))
                np.testing.assert_allclose(both, ENGINE.dual(a, ENGINE.pack(gate, up)), rtol=1e-3, atol=1e-3)
        self.assertTrue((wide[:, :8] == 0).all() and (wide[:, 72:] == 0).all())

    def test_layers(self):
        experts = [thresher.Expert(*(thresher.quantize(random(64, 64, seed=3 * one + part)) for part in range(3)))
                   for one in range(4)]
        x, weights = random(5, 64), np.ones((5, 2), np.float32)
        ids = np.int32([[0, 3], [1, 2], [-1, 9], [2, 2], [3, 0]])
        on_gpu, on_cpu = (thresher.MoeLayer(one, experts, top_k=2, tokens_max=8) for one in (gpu(), ENGINE))
        expected = on_cpu.forward(x, ids, weights)
        y = on_gpu.forward(x, ids, weights)
        np.testing.assert_allclose(y, expected, rtol=1e-2, atol=1e-2 * np.abs(expected).max())
        self.assertTrue((y[2] == 0).all())

    def test_another_devices_weights(self):
        a = random(2, 64).astype(np.float16)
        with self.assertRaises(thresher.Error):
            gpu().gemm(a, ENGINE.pack(thresher.quantize(random(64, 64))))

    def test_a_fork_cannot_use_it(self):
        """Neither by a call nor by the exit handlers, which destroy what the parent made."""
        script = ("import os, thresher, numpy as np\n"
                  "e = thresher.Engine('gpu')\n"
                  "w = e.pack(thresher.quantize(np.ones((64, 64), np.float32)), activations='fp16')\n"
                  "a = np.ones((1, 64), np.float16); before = e.gemm(a, w)\n"
                  "if os.fork() == 0:\n"
                  "    try:\n        e.gemm(a, w)\n"
                  "    except thresher.Error as error:\n        assert 'fork()' in str(error), error\n"
                  "    else:\n        raise SystemExit('computed')\n"
                  "    raise SystemExit(0)\n"
                  "status = os.wait()[1]\n"
                  "assert status == 0, f'the child ended with {status}'\n"
                  "assert (e.gemm(a, w) == before).all()\n")
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", script], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
