#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says hello, then hangs up and lives on."""
import os
import sys
import time

sys.stdin.readline()
print("hello 1", flush=True)
sys.stdin.readline()
os.close(1)
time.sleep(60)
