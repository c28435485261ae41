# SPDX-License-Identifier: Apache-2.0
"""Python in documents runs: the blocks of docs/python.md one after the other, in one namespace.

Blocks that import what this interpreter does not have are skipped. README's, which names a model to download, is compiled.
"""
import importlib.util
import pathlib
import re
import tempfile
import unittest

import numpy as np

import test_moe

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
IMPORT = re.compile(r"^(?:import|from) (?:thresher\.)?(\w+)", re.MULTILINE)


def blocks(document):
    return BLOCK.findall((ROOT / document).read_text())


def folder_of_model(place):
    """A tiny model in NVFP4, by the writer of these tests."""
    import transformers

    from nvfp4_files import write_nvfp4
    from test_transformers import configs, random_model
    transformers.logging.disable_progress_bar()
    config, linears = configs()["qwen3_moe"]
    random_model(config).save_pretrained(place / "plain")
    write_nvfp4(place / "plain", place / "nvfp4", place / "twin", "modelopt", linears)
    return place / "nvfp4"


class Documents(unittest.TestCase):
    def test_python_md(self):
        self.assertEqual(len(blocks("docs/python.md")), 4)
        with tempfile.TemporaryDirectory() as name:
            maker = test_moe.Checkpoints()
            maker.setUp()
            self.addCleanup(maker.doCleanups)
            names = {"folder": maker.folder, "hidden": test_moe.random(5, test_moe.H)}
            for number, block in enumerate(blocks("docs/python.md"), 1):
                with self.subTest(block=number):
                    missing = [module for module in IMPORT.findall(block) if not importlib.util.find_spec(module)]
                    if missing:
                        self.skipTest(f"no {', '.join(missing)}")
                    if "folder_of_model" in block:
                        names["folder_of_model"] = folder_of_model(pathlib.Path(name))
                    exec(compile(block, f"docs/python.md, block {number}", "exec"), names)
            if "tokens" in names:
                self.assertEqual(names["tokens"].shape, (1, 11))
            self.assertEqual(names["c"].shape, (6, 128))
            self.assertTrue(np.isfinite(names["c"]).all())

    def test_readme(self):
        found = blocks("README.md")
        self.assertEqual(len(found), 1)
        compile(found[0], "README.md", "exec")


if __name__ == "__main__":
    unittest.main()
