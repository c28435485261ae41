#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of this folder from the recordings they come from: thin.py RECORDING.json.gz SPACE.json

A recording is a T4 file, or one of Kernel Tuner's own caches. All configurations stay, with what was measured of them (the objective) and what became of them. Timestamps, the single run times and
parameters that never vary are dropped.
"""
import gzip
import json
import sys



def from_cache(recording):
    """A cache of Kernel Tuner as T4: a text instead of a time says why a configuration does not run."""
    results = []
    for entry in recording["cache"].values():
        runs = not isinstance(entry["time"], str)
        results.append({"configuration": {name: entry[name] for name in recording["tune_params_keys"]},
                        "invalidity": "correct" if runs else "runtime", "correctness": int(runs), "objectives": ["time"],
                        "measurements": [{"name": "time", "value": entry["time"]}]})
    return {"schema_version": "1.0.0", "metadata": {}, "results": results}


source, target = sys.argv[1:]
with gzip.open(source) as file:
    recording = json.load(file)
if "cache" in recording:
    recording = from_cache(recording)
results = recording["results"]
names = [name for name in results[0]["configuration"]
         if len({json.dumps(result["configuration"][name]) for result in results}) > 1]
lines = []
for result in results:
    objective = result["objectives"][0]
    value = next(m["value"] for m in result["measurements"] if m["name"] == objective)
    lines.append(json.dumps({
        "configuration": {name: result["configuration"][name] for name in names}, "times": {}, "invalidity": result["invalidity"],
        "correctness": result["correctness"], "objectives": [objective],
        "measurements": [{"name": objective, "value": round(value, 6) if isinstance(value, float) else value}]},
        separators=(",", ":")))
with open(target, "w") as file:
    file.write('{"schema_version":"%s","metadata":%s,"results":[\n' % (recording["schema_version"], json.dumps(recording["metadata"])))
    file.write(",\n".join(lines) + "\n]}\n")
