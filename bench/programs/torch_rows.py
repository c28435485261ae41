# SPDX-License-Identifier: Apache-2.0
"""What peers made of torch have in common: operands as tensors, and on a GPU their CUDA graphs."""
import torch

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
MAGNITUDES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M1 = torch.tensor(MAGNITUDES + [-value for value in MAGNITUDES])
E4M3 = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
DEVICE = "cuda"
FOREIGN_ELEMENTS = 128 * 1024


def use(index):
    torch.cuda.set_device(index)


def is_on_device(memory):
    return hasattr(memory, "__cuda_array_interface__")


def on_device(problem):
    return is_on_device(problem.groups[0].b.codes)


def tensor(memory, dtype):
    """Bytes of the protocol as a tensor that shares them."""
    if is_on_device(memory):
        return torch.as_tensor(memory, device=DEVICE).view(dtype)
    return torch.frombuffer(memory, dtype=dtype)


def decoded(matrix, row_count, k, dtype, factor=1.0):
    """Exact in every type but for the factor."""
    codes = tensor(matrix.codes, torch.uint8).view(row_count, k // 2)
    scales = tensor(matrix.scales, torch.uint8).view(row_count, k // 16)
    # A pair of codes is looked up at once, which takes less memory than one after the other.
    pairs = torch.stack((E2M1.repeat(16), E2M1.repeat_interleave(16)), dim=-1).to(codes.device)
    values = pairs[codes.int()].view(row_count, k // 16, 16)
    return (values * (E4M3.to(codes.device)[scales.int()] * factor)[..., None]).view(row_count, k).to(dtype)


def weights(group, dtype, with_global_scales=False):
    """The rows of a gemm's weights, or those of a dual's gate and then of its up."""
    sides = [group.b] if group.up is None else [group.b, group.up]
    return torch.cat(
        [
            decoded(side, group.n, group.k, dtype, side.global_scale if with_global_scales else 1.0)
            for side in sides
        ]
    )


def activations(problem, group, call):
    return tensor(call.a16, TYPES[problem.activations]).view(group.m, group.k)


def output(problem, group, call):
    c = tensor(call.c, TYPES[problem.output])
    return c.as_strided((group.m, group.n), (call.c_stride, 1))


def one_extent(problem, name):
    """Of all groups; products of all at once want the same of each."""
    extents = {getattr(group, name) for group in problem.groups}
    if len(extents) > 1:
        raise ValueError(f"its groups differ in {name}, which one product for all does not take")
    return extents.pop()


def ends(problem):
    counts = torch.tensor([group.m for group in problem.groups])
    return counts.cumsum(0).to(dtype=torch.int32, device=DEVICE)


def all_activations(problem, calls, dtype):
    """The rows of all groups, times the factors that all their columns share."""
    parts = [
        (activations(problem, group, call).float() * call.alpha).to(dtype)
        for group, call in zip(problem.groups, calls)
        if call
    ]
    return torch.cat(parts)


def all_outputs(problem, calls):
    """The rows of all groups, which follow each other in memory."""
    row_count = sum(group.m for group in problem.groups)
    n = one_extent(problem, "n")
    first = next(call for call in calls if call)
    whole = type(first.c)(first.c.address, row_count * n * 2)
    return tensor(whole, TYPES[problem.output]).view(row_count, n)


def silu_and_multiply(products, up_factors, c):
    n = c.shape[1]
    gate = products[:, :n].float()
    c.copy_(torch.nn.functional.silu(gate) * (products[:, n:].float() * up_factors))


def gate(c, up_factors):
    """A dual's gate, from products to c, in one kernel where torch.compile can make it. `up_factors`:
    of the rows, what up has more than gate."""
    compiled = torch.compile(silu_and_multiply, dynamic=False)
    example = torch.zeros(c.shape[0], 2 * c.shape[1], dtype=c.dtype, device=DEVICE)
    try:
        compiled(example, up_factors, torch.empty_like(c))
    except Exception:  # whatever it lacks here, the steps one by one are right as well
        compiled = silu_and_multiply
    return lambda products: compiled(products, up_factors, c)


def row_factors(problem, calls, factor_of):
    parts = [
        torch.full((group.m, 1), factor_of(group, call))
        for group, call in zip(problem.groups, calls)
        if call
    ]
    return torch.cat(parts).to(DEVICE)


_foreign = None


def foreign(_writes=True):
    """Somebody else's kernel: an element-wise step over 512 KiB."""
    global _foreign
    if _foreign is None:
        _foreign = torch.zeros(FOREIGN_ELEMENTS, device=DEVICE)
    _foreign.mul_(0.5)


def capture(runs):
    """A CUDA graph of all of them. Whoever cannot write where he is told need not copy his results
    there but in the last one: nobody looks at the others."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for run in runs[-2:]:
            run()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for run in runs[:-1]:
            run(False)
        runs[-1](True)
    return graph.replay


def forget():
    torch.cuda.empty_cache()
