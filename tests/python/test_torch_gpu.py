# SPDX-License-Identifier: Apache-2.0
"""The operators of PyTorch where only a GPU shows it: streams, CUDA graphs, tensors that go while work is queued."""
import gc
import unittest

import torch

import thresher
import thresher.torch as tt
from test_torch import counts_of, moe, routed, tokens, weight


def setUpModule():
    if not torch.cuda.is_available():
        raise unittest.SkipTest("torch sees no GPU")


class Layers(unittest.TestCase):
    def test_in_a_graph_and_on_streams(self):
        layer, _ = moe("cuda", tokens_max=16)
        x, (ids, weights) = tokens(16, 64, torch.bfloat16, "cuda"), routed(16, "cuda")
        expected = torch.ops.thresher.moe(x, ids, weights, layer.id)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = torch.ops.thresher.moe(x, ids, weights, layer.id)
        x.copy_(x.flip(0))
        ids.copy_(ids.flip(0))
        weights.copy_(weights.flip(0))
        graph.replay()
        torch.testing.assert_close(result, expected.flip(0), rtol=1e-2, atol=1e-2)
        streams = [torch.cuda.Stream() for _ in range(3)]
        torch.cuda.synchronize()
        now = torch.ops.thresher.moe(x, ids, weights, layer.id)
        torch.cuda.synchronize()
        results = []
        for repeat in range(12):
            with torch.cuda.stream(streams[repeat % 3]):
                results.append(torch.ops.thresher.moe(x, ids, weights, layer.id))
        torch.cuda.synchronize()
        for one in results:
            self.assertTrue(torch.equal(one, now))

    def test_tensors_and_layers_may_go_while_work_is_queued(self):
        layer, _ = moe("cuda")
        x, (ids, weights) = tokens(8, 64, torch.bfloat16, "cuda"), routed(8, "cuda")
        expected = torch.ops.thresher.moe(x, ids, weights, layer.id)
        torch.cuda.synchronize()
        torch.cuda._sleep(50_000_000)
        for _ in range(20):
            result = torch.ops.thresher.moe(x.clone(), ids.clone(), weights.clone(), layer.id)
            torch.full_like(x, float("nan"))
        del layer
        gc.collect()
        others = [moe("cuda")[0] for _ in range(3)]  # where it was
        self.assertTrue(torch.equal(result, expected), len(others))


class Streams(unittest.TestCase):
    def setUp(self):
        self.grouped = tt.GroupedWeights([weight(256, 256, seed) for seed in range(4)], device="cuda")
        self.counts = counts_of(3, 0, 9, 4, device="cuda")
        self.a = tokens(16, 256, torch.bfloat16, "cuda")
        self.expected = torch.ops.thresher.gemm(self.a, self.grouped.id, self.counts)
        torch.cuda.synchronize()

    def test_work_is_queued_behind_the_current_stream(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            late = torch.zeros_like(self.a)
            torch.cuda._sleep(50_000_000)
            late.copy_(self.a)
            result = torch.ops.thresher.gemm(late, self.grouped.id, self.counts)
            self.assertFalse(stream.query(), "the call waited")
        stream.synchronize()
        self.assertTrue(torch.equal(result, self.expected))

    def test_streams_take_turns(self):
        streams = [torch.cuda.Stream() for _ in range(3)]
        results = []
        for repeat in range(30):
            with torch.cuda.stream(streams[repeat % 3]):
                results.append(torch.ops.thresher.gemm(self.a, self.grouped.id, self.counts))
        torch.cuda.synchronize()
        for result in results:
            self.assertTrue(torch.equal(result, self.expected))

    def test_a_graph_follows_its_inputs(self):
        a, counts = self.a.clone(), self.counts.clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = torch.ops.thresher.gemm(a, self.grouped.id, counts)
        for seed, split in ((1, (16, 0, 0, 0)), (2, (4, 4, 4, 4)), (3, (0, 0, 1, 15))):
            a.copy_(tokens(16, 256, torch.bfloat16, "cuda", seed))
            counts.copy_(counts_of(*split, device="cuda"))
            graph.replay()
            expected = torch.ops.thresher.gemm(a.clone(), self.grouped.id, counts.clone())
            self.assertTrue(torch.equal(result, expected))

    def test_a_graph_and_calls_of_other_sizes(self):
        """They share what says how many rows there are."""
        one = tt.GroupedWeights([weight(64, 64)], device="cuda")
        a = tokens(12, 64, torch.bfloat16, "cuda")
        whole, poison = torch.ops.thresher.gemm(a, one.id), float("nan")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = torch.ops.thresher.gemm(a[:7], one.id)
        for rows in (12, 3, 12, 7):
            captured.fill_(poison)
            self.assertTrue(torch.equal(torch.ops.thresher.gemm(a[:rows], one.id), whole[:rows]))
            graph.replay()
            self.assertTrue(torch.equal(captured, whole[:7]))
            self.assertTrue(torch.equal(torch.ops.thresher.gemm(a[:rows], one.id), whole[:rows]))

    def test_a_capture_without_a_first_call_says_so(self):
        fresh = tt.GroupedWeights([weight(64, 64)], device="cuda")
        a = tokens(4, 64, torch.bfloat16, "cuda")
        with self.assertRaisesRegex(thresher.Error, "was not called before this capture"):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                torch.ops.thresher.gemm(a, fresh.id)
        torch.cuda.synchronize()

    def test_tensors_may_go_while_work_is_queued(self):
        torch.cuda._sleep(50_000_000)
        for _ in range(20):
            result = torch.ops.thresher.gemm(self.a.clone(), self.grouped.id, self.counts.clone())
            torch.full_like(self.a, float("nan"))
        self.assertTrue(torch.equal(result, self.expected))

    def test_weights_may_go_while_work_is_queued(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            result = torch.ops.thresher.gemm(self.a, self.grouped.id, self.counts)
        del self.grouped
        gc.collect()
        others = [tt.GroupedWeights([weight(256, 256, 9)] * 4, device="cuda"), torch.full((4,), -1, device="cuda")]
        stream.synchronize()
        self.assertTrue(torch.equal(result, self.expected), len(others))

    def test_another_streams_device_is_never_taken(self):
        """The stream is the current one of the tensors' device, whatever device is current."""
        if torch.cuda.device_count() < 2:
            self.skipTest("one GPU")
        with torch.cuda.device(1):
            result = torch.ops.thresher.gemm(self.a, self.grouped.id, self.counts)
        self.assertTrue(torch.equal(result, self.expected))

    def test_devices_are_not_mixed(self):
        with self.assertRaisesRegex(thresher.Error, "a is on cpu but the weights are on cuda:0"):
            torch.ops.thresher.gemm(self.a.cpu(), self.grouped.id, self.counts.cpu())
        with self.assertRaisesRegex(thresher.Error, "counts is on cpu"):
            torch.ops.thresher.gemm(self.a, self.grouped.id, self.counts.cpu())


if __name__ == "__main__":
    unittest.main()
