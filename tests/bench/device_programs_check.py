#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the programs of bench/programs/ do on a GPU, done on a CPU: their operands, products and factors
against float64. Humming is a stand-in here that multiplies as its interface says it does; CUDA graphs,
torch.compile and Humming itself are left out. Exit code 77: no torch, skipped."""
import pathlib
import struct
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/programs"), str(ROOT / "pitches")]
try:
    import torch
except ImportError:
    print("no torch")
    sys.exit(77)
import serve
import torch_rows as rows

LIMIT = 3 * 2.0**-8  # step 8 of src/gemm/bound.cpp, of bf16
K, N = 256, 96
rows.DEVICE = "cpu"
rows.is_on_device = lambda memory: True
rows.tensor = lambda memory, dtype: torch.frombuffer(memory, dtype=dtype)
# Nothing is compiled here: the steps one by one.
torch.compile = lambda function, **_: function


def matrix(row_count, global_scale):
    codes = torch.randint(0, 256, (row_count, K // 2), dtype=torch.uint8)
    scales = torch.randint(0x30, 0x48, (row_count, K // 16), dtype=torch.uint8)
    return serve.Matrix(memoryview(codes.numpy()).cast("B"), memoryview(scales.numpy()).cast("B"), global_scale)


def values_of(nvfp4, row_count):
    """Decoded by the definition, apart from what is tested."""
    magnitudes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    e4m3 = lambda code: struct.unpack("<e", struct.pack("<H", (code & 0x7F) << 7))[0] * 2.0**8
    values = torch.empty(row_count, K, dtype=torch.float64)
    for row in range(row_count):
        for column in range(K):
            byte = nvfp4.codes[(row * K + column) // 2]
            code = byte >> 4 if column % 2 else byte & 15
            scale = e4m3(nvfp4.scales[row * (K // 16) + column // 16])
            values[row, column] = (-1) ** (code >> 3) * magnitudes[code & 7] * scale
    return values * nvfp4.global_scale


class Scene:
    def __init__(self, op, counts):
        up = lambda: matrix(N, 0.031) if op == "dual" else None
        groups = [serve.Group(m, N, K, matrix(N, 0.017 * (g + 1)), up()) for g, m in enumerate(counts)]
        self.problem = serve.Problem(op, "bf16", "bf16", 1, groups)
        self.rows = [torch.randn(m, K).bfloat16() for m in counts]
        self.calls = [
            serve.Call(None, memoryview(a.view(torch.uint8).numpy()).cast("B"), 0.7, 1.3 + g, None, N) if len(a) else None
            for g, a in enumerate(self.rows)
        ]
        self.c = torch.full((sum(counts), N), float("nan"), dtype=torch.bfloat16)
        rows.all_outputs = lambda problem, calls: self.c

    def right(self):
        parts = []
        for group, call, a in zip(self.problem.groups, self.calls, self.rows):
            if call is None:
                continue
            gate = a.double() @ values_of(group.b, N).T * call.alpha
            if self.problem.op == "gemm":
                parts.append(gate)
            else:
                ups = a.double() @ values_of(group.up, N).T * call.alpha_up
                parts.append(torch.nn.functional.silu(gate) * ups)
        return torch.cat(parts)

    def judge(self, who):
        right = self.right()
        error = ((self.c.double() - right).norm() / right.norm()).item()
        if not error <= LIMIT:
            sys.exit(f"{who}, {self.problem.op}: errors are {error:.4f} of what is right")


class HummingLayer(torch.nn.Module):
    """Multiplies what it was loaded with, as the real one's interface says."""

    def __init__(self, shape_n, shape_k, weight_config, num_experts, pad_n_to_multiple, pad_k_to_multiple, torch_dtype):
        super().__init__()
        assert weight_config == {"quant_method": "modelopt", "quant_algo": "nvfp4"}
        assert num_experts is None or num_experts > 1
        assert (shape_n % N, shape_k, pad_n_to_multiple, pad_k_to_multiple) == (0, K, 256, 128)
        self.shape, self.experts, self.dtype = (shape_n, shape_k), num_experts, torch_dtype
        self.humming_config = "a config"

    def load_from_tensors(self, tensors):
        lead = () if self.experts is None else (self.experts,)
        n, k = self.shape
        assert tensors["weight"].shape == (*lead, n, k // 2)
        assert tensors["weight"].dtype == torch.uint8
        assert tensors["weight_scale"].shape == (*lead, n, k // 16)
        assert tensors["weight_scale"].dtype == torch.float8_e4m3fn
        assert tensors["weight_scale_2"].shape == (self.experts or 1,)
        self.tensors = tensors

    def transform(self):
        flat = lambda name: memoryview(self.tensors[name].view(torch.uint8).contiguous().numpy()).cast("B")
        count = (self.experts or 1) * self.shape[0]
        values = rows.decoded(serve.Matrix(flat("weight"), flat("weight_scale"), 1), count, K, torch.float32)
        scales = self.tensors["weight_scale_2"].repeat_interleave(self.shape[0])
        self.values = (values * scales[:, None]).view(-1, *self.shape)

    def forward(self, a, outputs, expert_layout, valid_shape_m, compute_config, tuning_config):
        assert valid_shape_m == len(a) == len(outputs)
        kind = "dense" if self.experts is None else "grouped_contiguous"
        assert compute_config == {"gemm_type": kind}
        assert tuning_config in (None, {"good": 1}), "a setting that does not run"
        begins = [0, len(a)] if expert_layout is None else expert_layout.tolist()
        for values, begin, end in zip(self.values, begins, begins[1:]):
            outputs[begin:end] = a[begin:end].float() @ values.T


def stand_in():
    humming, layer, tune = (types.ModuleType(name) for name in ("humming", "humming.layer", "humming.tune"))
    layer.HummingLayer = HummingLayer
    settings = [[0, 1, {"far": 1}], [2, 7, {"bad": 1}], [8, 40, {"good": 1}], [41, 80, {"good": 1}]]
    tune.get_heuristics_config = lambda config, gemm_type: settings
    sys.modules.update({"humming": humming, "humming.layer": layer, "humming.tune": tune})


def lists_are_captured_once():
    """What peer.py makes of the referee's requests, with a program that writes down what is asked."""
    import peer

    heard = []
    program = types.SimpleNamespace(
        prepare=lambda problem, number, copy, first: (
            heard.append(("prepare", number, copy, first is not None)) or (lambda calls: ("call", number, copy))
        ),
        foreign="foreign",
        capture=lambda runs: heard.append(("capture", runs)) or (lambda: heard.append("replay")),
        forget=lambda: heard.append("forget"),
        use=lambda index: heard.append(("use", index)),
    )
    lists = {"0": [(1 << 32, 9), (0, 9), (1 << 32, 9), (1, 9)], "8": [(65536, 9)]}
    problem = lambda *words: types.SimpleNamespace(groups=[1] if words[3] != "0" else [])
    arena = types.SimpleNamespace(problem=problem, calls=lambda *_: None, batch=lambda count, at: lists[at],
                                  move_to_device=lambda *_: None)
    server = peer.Peer(arena, "program.py")
    server.loaded = lambda: program
    server.module = program
    serve.Cuda = lambda index: types.SimpleNamespace(synchronize=lambda: None)
    server.device("3", "handle", "1", "handle", "1")
    for name in ("0", "1", "65536"):
        server.prepare(name, "gemm", "bf16", "bf16", "2", "0")
    server.prepare(str(1 << 32), "gemm", "bf16", "bf16", "0", "0")
    for at in ("0", "8", "0"):
        server.batch("4", at)
        server.go("0", "0")
    server.release("1")
    expected = [
        ("use", 3), ("prepare", 0, 0, False), ("prepare", 0, 1, True), ("prepare", 1, 0, False),
        ("capture", ["foreign", ("call", 0, 0), "foreign", ("call", 0, 1)]), "replay",
        ("capture", [("call", 1, 0)]), "replay", "replay", "forget",
    ]
    if heard != expected or 1 in server.prepared or server.replays:
        sys.exit(f"peer.py was heard to do {heard}")


def main():
    torch.manual_seed(1)
    lists_are_captured_once()
    stand_in()
    import humming_peer
    import torch_peer

    microseconds = {None: 9, "good": 5}

    def time_of(run):
        run()
        # The run's own setting, by the default that its lambda closes over.
        setting = run.__closure__ and next(
            (cell.cell_contents for cell in run.__closure__ if isinstance(cell.cell_contents, dict)), None)
        return microseconds["good" if setting else None]

    humming_peer.microseconds = time_of
    for op in ("gemm", "dual"):
        for counts in ((5, 0, 9), (17,)):
            scene = Scene(op, counts)
            for who, prepare, peer in (
                ("torch_grouped", torch_peer.Grouped, None),
                ("humming", humming_peer.Humming, 0),
                ("humming_best", humming_peer.Humming, 1),
            ):
                made = lambda first: prepare(scene.problem, *([] if peer is None else [peer]), first)
                first = made(None)
                if who == "humming_best" and first.setting != {"good": 1}:
                    sys.exit(f"{who} took {first.setting}")
                for copy in (first, made(first)):
                    scene.c.fill_(float("nan"))
                    copy(scene.calls)(True)
                    scene.judge(who)
            scene.c.mul_(1.02)
            try:
                scene.judge("who is wrong")
            except SystemExit:
                continue
            sys.exit("2 % off is not noticed")
    print("right")


main()
