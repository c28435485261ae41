# SPDX-License-Identifier: Apache-2.0
"""A plugin of vLLM: `vllm serve FOLDER --quantization thresher` computes the experts of ModelOpt's NVFP4 files here.

Tried with vLLM 0.32.0 at the level of one layer: vLLM made the layer, loaded its weights and called it, on a CPU. No
whole model was run, and none on a GPU. vLLM's insides move from month to month, so other versions are refused.

Installing thresher is enough for vLLM to find it; without `--quantization thresher` it changes nothing.
"""
from __future__ import annotations

from typing import Any

import vllm
from vllm.model_executor.layers.quantization import register_quantization_config
from vllm.model_executor.layers.quantization.base_config import QuantizationConfig

from ._c import Error

NAME = "thresher"
VERSION = "0.32"


def register() -> None:
    """What vLLM calls in each of its processes, perhaps more than once."""
    if vllm.__version__.split("+")[0].startswith(f"{VERSION}."):
        from ._vllm import ThresherConfig
        register_quantization_config(NAME)(ThresherConfig)
    else:
        register_quantization_config(NAME)(OtherVersion)


class OtherVersion(QuantizationConfig):
    """Tells who asks for it, and nobody else, why it is not there."""

    @classmethod
    def override_quantization_method(cls, hf_quant_cfg: Any, user_quant: str | None,
                                     hf_config: Any = None) -> str | None:
        if user_quant == NAME:
            raise Error(f"thresher's plugin was written for vLLM {VERSION}, and this is {vllm.__version__}; without "
                        f"--quantization {NAME} vLLM computes the model itself")
        return None
