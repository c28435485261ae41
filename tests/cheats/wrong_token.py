#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers every request at once, with a token of its own. Catalogue 7."""
import sys

print("hello 1", flush=True)
for line in sys.stdin:
    print("done 1234", flush=True)
