# SPDX-License-Identifier: Apache-2.0
"""Models of transformers with NVFP4 experts: importing this is enough.

    import thresher.transformers
    model = AutoModelForCausalLM.from_pretrained("RedHatAI/Qwen3-30B-A3B-NVFP4", device_map="cuda")

Checkpoints of ModelOpt and of compressed-tensors load by plain from_pretrained: experts that are NVFP4 stay NVFP4 and
are computed by torch.ops.thresher.moe, on the CPU or a GPU; NVFP4 linear layers outside of them by a product of one
group; FP8 ones are dequantised. Models that are not quantised can have their experts rounded to NVFP4 in memory:

    AutoModelForCausalLM.from_pretrained(path, experts_implementation="thresher")

`options` holds for what is loaded from then on. Needs transformers 5.17 or newer.
"""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import types
from typing import Any, Iterator

import torch
from torch import nn
from transformers.configuration_utils import PreTrainedConfig
from transformers.integrations import moe as hf_moe
from transformers.quantizers import auto
from transformers.quantizers.base import HfQuantizer
from transformers.utils import cached_file
from transformers.utils.quantization_config import QuantizationConfigMixin

from . import torch as tt
from ._c import Error
from .checkpoint import Checkpoint, Layer
from .moe import Expert, MoeLayer
from .nvfp4 import Matrix


@dataclasses.dataclass
class Options:
    """What a checkpoint leaves open."""

    # What experts multiply: "bf16", "fp16", "nvfp4" (W4A4, with a checkpoint's input scales); None: as precise as the
    # model's own type allows.
    activations: str | None = None
    tokens_max: int = 1024  # of one call of the library; longer sequences are computed in parts
    batch_invariant: bool = False  # a token's bits do not depend on the other tokens


options = Options()

_WORDS = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32"}


def _layer_options(dtype: torch.dtype, top_k: int) -> dict[str, Any]:
    if dtype not in _WORDS:
        raise Error(f"the model is of {dtype}; Thresher computes {', '.join(map(str, _WORDS))}")
    return {"top_k": top_k, "tokens_max": options.tokens_max, "batch_invariant": options.batch_invariant,
            "activations": options.activations or _sixteen_bits(dtype), "x": _WORDS[dtype]}


def _sixteen_bits(dtype: torch.dtype) -> str:
    """What a model of this type has multiplied with NVFP4 weights, where nobody wants NVFP4 activations."""
    if options.activations in ("bf16", "fp16"):
        return options.activations
    return "fp16" if dtype is torch.float16 else "bf16"


class _OfFiles(nn.Module):
    """What the library reads from a checkpoint and packs for a device, in place of parameters."""

    device: torch.device | None = None  # that it is packed for

    def pack(self, device: torch.device) -> None:
        raise NotImplementedError

    def pack_unless_it_moves(self, device: torch.device) -> None:
        """After loading. Whoever has a GPU and loads on the CPU will mostly say .to("cuda") next: once is enough."""
        if device.type != "cpu" or not torch.cuda.is_available():
            self.pack(device)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """What .to(), .cuda() and .cpu() call: there are no parameters to take along, so it is packed anew."""
        super()._apply(fn, recurse)
        before = self.device or torch.device("cpu")
        device = fn(torch.empty(0, device=before)).device
        if device != before and device.type in ("cpu", "cuda"):
            self.pack(device)
        return self


class ThresherExperts(_OfFiles):
    """The NVFP4 experts of one layer of a checkpoint, in place of a model's own."""

    def __init__(self, checkpoint: Checkpoint, layer: Layer, top_k: int, dtype: torch.dtype):
        super().__init__()
        self.checkpoint, self.layer, self.top_k, self.dtype = checkpoint, layer, top_k, dtype
        self.num_experts = layer.expert_count
        self.made = _layer_options(dtype, top_k)  # as options were then
        self.moe: tt.Moe | None = None
        self.layer_id = 0

    def pack(self, device: torch.device) -> None:
        made = self.checkpoint.moe(tt.engine(device), self.layer, **self.made)
        self.moe = tt.Moe(made, device)
        self.layer_id, self.device = self.moe.id, self.moe.device

    def forward(self, hidden_states: torch.Tensor, top_k_index: torch.Tensor,
                top_k_weights: torch.Tensor) -> torch.Tensor:
        if self.device != hidden_states.device:
            self.pack(hidden_states.device)
        return tt.moe(hidden_states, top_k_index, top_k_weights, self.layer_id)

    def extra_repr(self) -> str:
        layer = self.layer
        return f"{layer.expert_count} x ({layer.hidden}, {layer.intermediate}), NVFP4, {layer.format}"


class ThresherLinear(_OfFiles):
    """An NVFP4 linear layer: a product of one group."""

    def __init__(self, checkpoint: Checkpoint, module: str, original: nn.Linear, dtype: torch.dtype):
        super().__init__()
        self.checkpoint, self.module = checkpoint, module
        self.in_features, self.out_features = original.in_features, original.out_features
        self.bias = original.bias
        self.activations = torch.float16 if _sixteen_bits(dtype) == "fp16" else torch.bfloat16  # as options were then
        self.weights: tt.GroupedWeights | None = None
        self.weights_id = 0

    def pack(self, device: torch.device) -> None:
        matrix, _ = self.checkpoint.matrix(self.module)
        if matrix.shape != (self.out_features, self.in_features):
            raise Error(f"{self.module} is {matrix.shape} in the checkpoint and "
                        f"{(self.out_features, self.in_features)} in the model")
        self.weights = tt.GroupedWeights([matrix], device=device, activations=self.activations)
        self.weights_id, self.device = self.weights.id, self.weights.device

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.device != x.device:
            self.pack(x.device)
        rows = x.reshape(-1, self.in_features).to(self.activations).contiguous()
        y = tt.gemm(rows, self.weights_id, out_dtype=x.dtype).view(*x.shape[:-1], self.out_features)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}, NVFP4"


class ThresherConfig(QuantizationConfigMixin):
    """A checkpoint's own quantization_config, kept as it is."""

    def __init__(self, quant_method: str = "modelopt", **content: Any):
        self.quant_method = quant_method
        self.content = content

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], return_unused_kwargs: bool = False, **kwargs: Any) -> Any:
        config = cls(**config_dict)
        return (config, kwargs) if return_unused_kwargs else config

    def to_dict(self) -> dict[str, Any]:
        return {"quant_method": self.quant_method, **self.content}


class ThresherQuantizer(HfQuantizer):
    """Puts ThresherExperts and ThresherLinear where a checkpoint has NVFP4, and has them packed after loading."""

    requires_calibration = True

    def __init__(self, quantization_config: Any, **kwargs: Any):
        super().__init__(quantization_config, **kwargs)
        self.fp8: dict[str, str] = {}  # linear layers of the model: their names in the checkpoint

    def is_serializable(self) -> bool:
        # Asked by save_pretrained, whose own complaint does not say what to do instead.
        raise Error("a model with NVFP4 weights of Thresher's is not saved again: its weights are the files of "
                    f"{self.checkpoint.path}, which can be copied")

    @property
    def is_trainable(self) -> bool:
        return False

    @property
    def is_compileable(self) -> bool:
        return True

    def _convert_model_for_quantization(self, model: Any) -> None:
        """Nothing: transformers would take Llama-4's experts apart for compressed-tensors, and ours stay together."""

    def _process_model_before_weight_loading(self, model: Any, checkpoint_files: Any = None, **kwargs: Any) -> Any:
        if not checkpoint_files or not all(str(file).endswith(".safetensors") for file in checkpoint_files):
            raise Error(f"NVFP4 checkpoints are read from safetensors files, not from {checkpoint_files}")
        checkpoint = Checkpoint(_folder_or_file(checkpoint_files))
        dtype = model.dtype
        names = _Names(checkpoint)
        replaced = list(_replaced_experts(model, checkpoint, dtype))
        for name, experts in replaced:
            model.set_submodule(name, experts)
            if experts.layer.weight_on_input:
                block = model.get_submodule(name.rpartition(".")[0])
                block.forward = types.MethodType(_llama4_forward, block)
        for name, module in list(model.named_modules()):
            if isinstance(module, nn.Linear):
                stored = names.of(name)
                kind = names.kinds.get(stored)
                if kind == "nvfp4":
                    model.set_submodule(name, ThresherLinear(checkpoint, stored, module, dtype))
                elif kind == "fp8":
                    self.fp8[name] = stored
        names.check_all_used([experts.layer.prefix for _, experts in replaced])
        self.checkpoint = checkpoint
        self.types = {name: parameter.dtype for name, parameter in model.named_parameters()}
        ours = [*(experts.layer.prefix for _, experts in replaced), *(name for name, _ in replaced), *names.used]
        patterns = [re.escape(name) + r"\." for name in ours]
        patterns += [r"\.(weight|input)(_global)?_scale(_2|_inv)?$", r"\.[kv]_scale$"]
        model._keys_to_ignore_on_load_unexpected = {*(model._keys_to_ignore_on_load_unexpected or ()), *patterns}
        return model

    def _process_model_after_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        for name, parameter in model.named_parameters():
            # Of files that are quantised, transformers leaves what it renames in the type it was stored in.
            if name not in self.checkpoint.tensors and parameter.is_floating_point():
                parameter.data = parameter.data.to(self.types.get(name, parameter.dtype))
        for name, stored in self.fp8.items():
            _apply_fp8_scale(model.get_submodule(name), self.checkpoint, stored)
        for name, module in model.named_modules():
            if isinstance(module, _OfFiles):
                module.pack_unless_it_moves(_device_beside(model, name))
        return model


def _folder_or_file(files: list[Any]) -> str:
    """What a Checkpoint is opened by: the folder, whose config.json says more than files do."""
    return os.path.dirname(os.fspath(files[0])) or "."


def _replaced_experts(model: nn.Module, checkpoint: Checkpoint,
                      dtype: torch.dtype) -> Iterator[tuple[str, ThresherExperts]]:
    """For every module of experts whose layer the checkpoint has in NVFP4, what goes in its place."""
    layers = {layer.index: layer for layer in checkpoint.layers if layer.format != "none"}
    for name, module in model.named_modules():
        if not _is_experts(module):
            continue
        number = re.findall(r"\.(\d+)\.", name)
        layer = layers.get(int(number[-1])) if number else None
        if layer is None:
            continue  # not NVFP4: transformers loads it
        if layer.fault:
            raise Error(f"{checkpoint.path}: {layer.fault}")
        if module.num_experts != layer.expert_count:
            raise Error(f"{name} has {module.num_experts} experts in the model and {layer.expert_count} in "
                        f"{layer.prefix} of the checkpoint")
        yield name, ThresherExperts(checkpoint, layer, layer.top_k or _top_k_of(module), dtype)
        del layers[layer.index]
    if layers:
        missed = ", ".join(layer.prefix for layer in layers.values())
        raise Error(f"the model has no experts for {missed} of {checkpoint.path}")


def _llama4_forward(self: nn.Module, hidden_states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Llama-4's block of experts, whose own hands every expert all tokens: here each token visits its expert."""
    hidden_states = hidden_states.reshape(-1, self.hidden_dim)
    scores, logits = self.router(hidden_states)
    ids = logits.topk(1, dim=1).indices
    routed = self.experts(hidden_states, ids, scores.gather(1, ids).float())
    return self.shared_expert(hidden_states) + routed, logits


def _is_experts(module: nn.Module) -> bool:
    return (hasattr(module, "num_experts") and hasattr(module, "down_proj")
            and (hasattr(module, "gate_up_proj") or hasattr(module, "up_proj"))
            and not isinstance(module.down_proj, nn.Module))


def _top_k_of(module: nn.Module) -> int:
    for name in ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk"):
        if isinstance(getattr(module.config, name, None), int):
            return getattr(module.config, name)
    raise Error(f"{type(module.config).__name__} does not say how many experts a token has")


class _Names:
    """Linear layers of a checkpoint outside of experts, and which of a model's modules they are."""

    # How prefixes of modules and of checkpoints differ, in models with more parts than a language model.
    PREFIXES = (("model.", "model.language_model."), ("model.language_model.", "language_model.model."),
                ("model.", "language_model.model."), ("", "language_model."), ("model.", "backbone."))

    def __init__(self, checkpoint: Checkpoint):
        self.path = checkpoint.path
        self.kinds: dict[str, str] = {}
        self.used: set[str] = set()
        tensors = checkpoint.tensors
        for name, tensor in tensors.items():
            module, _, leaf = name.rpartition(".")
            is_modelopt = leaf == "weight" and tensor.dtype == "U8" and f"{module}.weight_scale" in tensors
            if leaf == "weight_packed" or is_modelopt:
                self.kinds[module] = "nvfp4"
            elif leaf == "weight" and tensor.dtype == "F8_E4M3":
                self.kinds[module] = "fp8"

    def of(self, module: str) -> str:
        """What the checkpoint calls it; nothing if it has none of it."""
        candidates = [module] + [theirs + module.removeprefix(ours) for ours, theirs in self.PREFIXES
                                 if module.startswith(ours)]
        for candidate in candidates:
            if candidate in self.kinds:
                self.used.add(candidate)
                return candidate
        return ""

    def check_all_used(self, experts: list[str]) -> None:
        """A matrix that nobody took would leave random weights behind."""
        left = [name for name, kind in self.kinds.items() if kind == "nvfp4" and name not in self.used
                and not any(name.startswith(f"{prefix}.") for prefix in experts) and ".mtp" not in f".{name}"]
        if left:
            raise Error(f"{self.path}: the model has no linear layer for {left[0]}"
                        + (f" and {len(left) - 1} others" if len(left) > 1 else ""))


def _apply_fp8_scale(linear: nn.Linear, checkpoint: Checkpoint, stored: str) -> None:
    """What transformers loaded are a FP8 matrix's codes as numbers: times its scale, of the tensor, rows or blocks."""
    for leaf in ("weight_scale", "weight_scale_inv"):
        if f"{stored}.{leaf}" in checkpoint.tensors:
            scale = torch.from_numpy(checkpoint.values(f"{stored}.{leaf}"))
            break
    else:
        raise Error(f"{stored}.weight is FP8 and has no scale in {checkpoint.path}")
    weight = linear.weight.data
    if scale.dim() == 2 and scale.shape[1] > 1:
        height, width = (-(-extent // blocks) for extent, blocks in zip(weight.shape, scale.shape))
        scale = scale.repeat_interleave(height, 0)[:weight.shape[0]].repeat_interleave(width, 1)[:, :weight.shape[1]]
    elif scale.numel() > 1:
        scale = scale.reshape(-1, 1)
    linear.weight.data = (weight.float() * scale.to(weight.device)).to(weight.dtype)


def _device_beside(model: nn.Module, name: str) -> torch.device:
    """Where a module without parameters belongs: with the nearest parameters around it."""
    while True:
        module = model.get_submodule(name) if name else model
        for parameter in module.parameters():
            if parameter.device.type != "meta":
                return parameter.device
        if not name:
            return torch.device("cpu")
        name = name.rpartition(".")[0]


# Which experts an unquantised model's own were rounded to, and what those were then.
_ROUNDED = "_thresher_experts"


def prepare(model: nn.Module, *, free: bool = False) -> nn.Module:
    """Rounds the experts of a model with experts_implementation="thresher" now, not at the first call.

    For torch.compile, which cannot do it. free: lets the model's own weights of experts go; it can then neither be
    saved nor moved to another device.
    """
    for module in model.modules():
        if _is_experts(module):
            moe = _rounded(module, module.down_proj.device, _top_k_of(module))
            if free:
                for parameter in module.parameters(recurse=False):
                    parameter.data = parameter.data.new_empty(0)
                module.__dict__[_ROUNDED] = moe, _stamp_of(module)
    return model


def experts_forward(self: nn.Module, hidden_states: torch.Tensor, top_k_index: torch.Tensor,
                    top_k_weights: torch.Tensor) -> torch.Tensor:
    """The experts backend "thresher": the module's experts in NVFP4, rounded at the first call and when they change.

    A compiled graph keeps those that it was compiled with.
    """
    moe, stamp = self.__dict__.get(_ROUNDED, (None, None))
    is_stale = not torch.compiler.is_compiling() and stamp != _stamp_of(self)
    if moe is None or is_stale or moe.device != hidden_states.device:
        moe = _rounded(self, hidden_states.device, top_k_index.shape[-1])
    return tt.moe(hidden_states, top_k_index, top_k_weights, moe.id)


def _rounded(module: nn.Module, device: torch.device, top_k: int) -> tt.Moe:
    if module.down_proj.numel() == 0:
        raise Error("the experts' own weights were let go by prepare(free=True): load the model again")
    experts = [_expert_of(module, index) for index in range(module.num_experts)]
    layer = MoeLayer(tt.engine(device), experts, **_activation_of(module),
                     **_layer_options(module.down_proj.dtype, top_k))
    moe = tt.Moe(layer, device)
    module.__dict__[_ROUNDED] = moe, _stamp_of(module)
    return moe


def _stamp_of(module: nn.Module) -> list[tuple[int, int]]:
    """Another one when somebody has written to the module's own weights, or put others in their place."""
    return [(parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version)
            for parameter in module.parameters(recurse=False)]


def _activation_of(module: nn.Module) -> dict[str, Any]:
    if hasattr(module, "alpha") and hasattr(module, "limit"):  # GPT-OSS
        return {"activation": "clamped_silu", "alpha": float(module.alpha), "beta": 1.0, "limit": float(module.limit)}
    function = type(getattr(module, "act_fn", None)).__name__
    plain = type(module)._apply_gate is hf_moe._default_apply_gate
    if module.has_gate and plain and function in ("SiLU", "SiLUActivation"):
        return {"activation": "silu"}
    if not module.has_gate and function == "ReLUSquaredActivation":
        return {"activation": "squared_relu"}
    raise Error(f"{type(module).__name__} has an activation that Thresher does not know: {function}")


def _expert_of(module: nn.Module, index: int) -> Expert:
    def matrix(rows: torch.Tensor) -> Matrix:
        codes, scales, global_scale = torch.ops.thresher.quantize(rows.detach().contiguous())
        return tt.matrix_of(codes, scales, global_scale.item())

    def bias(values: torch.Tensor | None) -> Any:
        return None if values is None else values.detach().float().cpu().contiguous().numpy()

    of_first = "gate_up_proj" if module.has_gate else "up_proj"
    first, down = getattr(module, of_first)[index], module.down_proj[index]
    if module.is_transposed:
        first, down = first.T, down.T
    first_bias = getattr(module, f"{of_first}_bias")[index] if module.has_bias else None
    down_bias = module.down_proj_bias[index] if module.has_bias else None
    if not module.has_gate:
        return Expert(None, matrix(first), matrix(down), up_bias=bias(first_bias), down_bias=bias(down_bias))
    half = first.shape[0] // 2
    gate, up = (slice(0, half), slice(half, None)) if module.is_concatenated else (slice(0, None, 2), slice(1, None, 2))
    return Expert(matrix(first[gate]), matrix(first[up]), matrix(down),
                  gate_bias=None if first_bias is None else bias(first_bias[gate]),
                  up_bias=None if first_bias is None else bias(first_bias[up]), down_bias=bias(down_bias))


def is_nvfp4(config: dict[str, Any]) -> bool:
    """Whether a quantization_config describes NVFP4 weights."""
    if "nvfp4" in f"{config.get('format', '')} {config.get('quant_algo', '')}".lower():
        return True
    if str(config.get("data_type", "")).lower().startswith("nv_fp"):  # AutoRound
        return True
    weights = [group.get("weights") or {} for group in (config.get("config_groups") or {}).values()]
    layers = [str(layer.get("quant_algo", "")).lower() for layer in (config.get("quantized_layers") or {}).values()]
    return (any(of.get("num_bits") == 4 and of.get("type") == "float" and of.get("group_size") == 16 for of in weights)
            or any("nvfp4" in algorithm for algorithm in layers))


def modelopt_config(content: dict[str, Any]) -> dict[str, Any]:
    """What hf_quant_config.json says, as config.json would say it."""
    said = content.get("quantization") or {}
    return {**said, "quant_method": "modelopt", "ignore": said.get("exclude_modules") or [],
            "producer": content.get("producer")}


def _read_older_configs() -> None:
    """ModelOpt's older files describe themselves in hf_quant_config.json alone, which transformers does not read."""
    before = PreTrainedConfig._get_config_dict.__func__

    @functools.wraps(before)
    def with_older(cls: type, name: Any, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        asked = {key: kwargs[key] for key in ("cache_dir", "token", "revision", "local_files_only", "subfolder")
                 if kwargs.get(key)}
        config, rest = before(cls, name, **kwargs)
        if not config or "quantization_config" in config or os.path.isfile(name):
            return config, rest
        found = cached_file(name, "hf_quant_config.json", _raise_exceptions_for_gated_repo=False,
                            _raise_exceptions_for_missing_entries=False,
                            _raise_exceptions_for_connection_errors=False, **asked)
        if found is not None:
            with open(found) as file:
                content = modelopt_config(json.load(file))
            if is_nvfp4(content):
                config["quantization_config"] = content
        return config, rest

    PreTrainedConfig._get_config_dict = classmethod(with_older)


def _register() -> None:
    """NVFP4 files of these makers become ours; their other files stay with whoever had them."""
    for method in ("modelopt", "compressed-tensors", "auto-round"):
        auto.AUTO_QUANTIZATION_CONFIG_MAPPING[method] = _config_class(
            method, auto.AUTO_QUANTIZATION_CONFIG_MAPPING.get(method))
        auto.AUTO_QUANTIZER_MAPPING[method] = _quantizer_class(auto.AUTO_QUANTIZER_MAPPING.get(method))
    hf_moe.ExpertsInterface.register("thresher", experts_forward)
    _read_older_configs()


def _config_class(method: str, before: Any) -> type:
    class Config(ThresherConfig):
        @classmethod
        def from_dict(cls, config_dict: dict[str, Any], return_unused_kwargs: bool = False, **kwargs: Any) -> Any:
            if is_nvfp4(config_dict):
                return ThresherConfig.from_dict(config_dict, return_unused_kwargs, **kwargs)
            if before is None:
                raise Error(f"quant_method {method!r} of {config_dict.get('quant_algo')}: Thresher loads NVFP4")
            return before.from_dict(config_dict, return_unused_kwargs, **kwargs)

    return Config


def _quantizer_class(before: Any) -> type:
    class Quantizer(ThresherQuantizer):
        def __new__(cls, quantization_config: Any, **kwargs: Any) -> Any:
            if isinstance(quantization_config, ThresherConfig) or before is None:
                return ThresherQuantizer(quantization_config, **kwargs)
            return before(quantization_config, **kwargs)

    return Quantizer


_register()
