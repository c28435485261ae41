#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Greets in a version of the protocol that does not exist."""
import sys

sys.stdin.readline()
print("hello 99", flush=True)
sys.stdin.readline()
