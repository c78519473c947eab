from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.watch.measurement import Plan, measure
from benchmarks.watch.meters import Lags, watch_machine

p = argparse.ArgumentParser()
p.add_argument("--side", default="ours")
p.add_argument("--jobs", type=int, default=100)
p.add_argument("--seconds", type=float, default=20)
p.add_argument("--ending-seconds", type=float, default=10)
p.add_argument("--events", action="store_true")
p.add_argument("--indexed", action="store_true")
p.add_argument("--mixed", action="store_true")
p.add_argument("--profile")
p.add_argument("--settings", type=json.loads, default={})
a = p.parse_args()
machine = Lags()
watch_machine(machine)
print(json.dumps(measure(Plan(**vars(a)), machine), indent=1))
