# SPDX-License-Identifier: Apache-2.0
"""What vLLM 0.32 is given by thresher.vllm: ModelOpt's config with other experts.

Experts multiply 16-bit activations (W4A16), and gate and up keep global scales of their own. Linear layers stay vLLM's.
"""
from __future__ import annotations

from typing import Any

import torch
from vllm.model_executor.layers.fused_moe.activation import MoEActivation
from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase
from vllm.model_executor.layers.quantization.modelopt import ModelOptNvFp4Config, ModelOptNvFp4FusedMoE

from . import torch as tt
from ._c import Error
from .moe import Expert, MoeLayer
from .vllm import NAME

_WORDS = {torch.bfloat16: "bf16", torch.float16: "fp16"}


class ThresherModelOptExperts(ModelOptNvFp4FusedMoE):
    """The experts of one layer: parameters as ModelOpt's files want them, packed and let go once they are loaded.

    vLLM's loader knows ModelOpt's files by "ModelOpt" in the name of this class.
    """

    supports_pre_processed_weights = False
    supports_eplb = False
    use_global_sf = False  # of input scales, which go unused

    def __init__(self, quant_config: ModelOptNvFp4Config, moe_config: Any):
        FusedMoEMethodBase.__init__(self, moe_config)  # ModelOpt's own would look for a kernel of vLLM's
        self.quant_config = quant_config
        self.packed: tt.Moe | None = None
        if moe_config.activation is not MoEActivation.SILU or moe_config.has_bias:
            raise Error(f"experts of activation {moe_config.activation.value!r}"
                        f"{' with biases' if moe_config.has_bias else ''}: thresher's plugin knows silu without biases")
        if moe_config.in_dtype not in _WORDS:
            raise Error(f"the model is of {moe_config.in_dtype}: thresher's plugin knows "
                        f"{', '.join(map(str, _WORDS))}")

    def maybe_roundup_sizes(self, hidden_size: int, intermediate_size_per_partition: int, act_dtype: torch.dtype,
                            moe_parallel_config: Any) -> tuple[int, int]:
        return hidden_size, intermediate_size_per_partition

    def process_weights_after_loading(self, layer: Any) -> None:
        experts = [_expert_of(layer, index) for index in range(layer.w13_weight.shape[0])]
        device, word = layer.w13_weight.device, _WORDS[self.moe.in_dtype]
        self.packed = tt.Moe(MoeLayer(
            tt.engine(device), experts, top_k=layer.top_k, tokens_max=self.moe.max_num_tokens, x=word,
            activations=word, weight_on_input=layer.apply_router_weight_on_input), device)
        for parameter in layer.parameters(recurse=False):
            parameter.data = parameter.data.new_empty(0)

    def get_fused_moe_quant_config(self, layer: Any) -> None:
        return None

    def apply(self, layer: Any, x: torch.Tensor, topk_weights: torch.Tensor, topk_ids: torch.Tensor,
              shared_experts: Any, shared_experts_input: torch.Tensor | None) -> torch.Tensor:
        if self.packed is None:
            raise Error(f"{layer.layer_name}: the experts' weights were not loaded")
        if layer.expert_map is not None:  # expert parallelism: -1 are experts of other processes
            topk_ids = layer.expert_map[topk_ids]
        return tt.moe(x, topk_ids, topk_weights, self.packed.id)


def _expert_of(layer: Any, index: int) -> Expert:
    codes, scales, of_gate_up = (getattr(layer, f"w13_{name}")[index]
                                 for name in ("weight", "weight_scale", "weight_scale_2"))
    half = codes.shape[0] // 2
    gate, up = (tt.matrix_of(codes[rows], scales[rows], factor.item())
                for rows, factor in zip((slice(0, half), slice(half, None)), of_gate_up))
    down = tt.matrix_of(layer.w2_weight[index], layer.w2_weight_scale[index], layer.w2_weight_scale_2[index].item())
    return Expert(gate, up, down)


class ThresherConfig(ModelOptNvFp4Config):
    """ModelOpt's, where it was asked for by name."""

    FusedMoEMethodCls = ThresherModelOptExperts

    def get_name(self) -> str:
        return NAME

    @classmethod
    def override_quantization_method(cls, hf_quant_cfg: Any, user_quant: str | None,
                                     hf_config: Any = None) -> str | None:
        found = super().override_quantization_method(hf_quant_cfg, user_quant, hf_config)
        return NAME if found and user_quant == NAME else None
