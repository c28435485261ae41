# SPDX-License-Identifier: Apache-2.0
"""from_pretrained with device_map=, which is accelerate's."""
import pathlib
import tempfile
import unittest

import torch
import transformers

import thresher.transformers as door
from nvfp4_files import write_nvfp4
from test_transformers import BOUND, configs, random_model

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class DeviceMap(unittest.TestCase):
    def test_a_model_is_packed_where_the_map_says(self):
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        config, linears = configs()["qwen3_moe"]
        tokens = torch.arange(3, 27).view(2, 12)
        with tempfile.TemporaryDirectory() as name, torch.no_grad():
            folder = pathlib.Path(name)
            random_model(config).save_pretrained(folder / "plain")
            write_nvfp4(folder / "plain", folder / "nvfp4", folder / "twin", "modelopt", linears)
            load = transformers.AutoModelForCausalLM.from_pretrained
            twin = load(folder / "twin", dtype=torch.float32)(tokens).logits
            for device_map in (DEVICE, "auto"):
                with self.subTest(device_map):
                    model = load(folder / "nvfp4", dtype=torch.float32, device_map=device_map)
                    logits = model(tokens.to(DEVICE)).logits.cpu()
                    self.assertLess((logits - twin).abs().max() / twin.abs().max(), BOUND["bf16"])
                    ours = [module for module in model.modules() if isinstance(module, door.ThresherExperts)]
                    self.assertEqual([module.device.type for module in ours], [DEVICE] * 2)


if __name__ == "__main__":
    unittest.main()
