"""compare_losses.py A B TOLERANCE [--relative]: the losses of two runs' metrics.jsonl, step by step, differ by no more than TOLERANCE, or that share of them."""
import json
import sys


def losses(path):
    return {line["step"]: line["loss"] for line in map(json.loads, open(path)) if line["kind"] == "train"}


a, b = losses(sys.argv[1]), losses(sys.argv[2])
if a.keys() != b.keys() or len(a) < 2:
    sys.exit(f"the runs have other steps: {sorted(a)} and {sorted(b)}")
is_relative = sys.argv[4:] == ["--relative"]
worst = max(abs(a[step] - b[step]) / (abs(a[step]) if is_relative else 1) for step in a)
print(f"{len(a)} steps, the losses differ by {worst:.2e} at most")
sys.exit(worst > float(sys.argv[3]))
