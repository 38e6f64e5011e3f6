"""sayso as one of the task trackers: a module with VARIANTS and setup(variant, dir, n), as the others are."""
import json, os, subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BUILT = os.environ.get("SAYSO_BUILT", os.path.join(ROOT, "target", "dist"))
VARIANTS = {"sayso": os.path.join(BUILT, "sayso")}


def setup(variant, d, n):
    program, store = VARIANTS[variant], os.path.join(d, ".sayso")
    env = {k: v for k, v in os.environ.items() if not k.startswith("SAYSO")}
    fill = os.path.join(BUILT, "examples", "bench")
    subprocess.run([fill, "fill", "--dir", store, "--tasks", str(n)], check=True, stdout=subprocess.DEVNULL, timeout=3000)
    with open(os.path.join(store, "config.yaml"), "w") as f:
        f.write("space: bench\nstore: sqlite\n")
    first = json.loads(subprocess.run([program, "next", "--json"], cwd=d, env=env, check=True, capture_output=True).stdout)
    return {"env": env, "cwd": d, "cmds": {
        "list": [program, "list"], "ready": [program, "ready"], "next": [program, "next"],
        "show": [program, "show", first["handle"]], "add": [program, "create", "One more thing to do"]}}
