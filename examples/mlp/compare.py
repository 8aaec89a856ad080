"""Trains with each codec, several times, and compares: accuracy, bytes on the wire, time.

One process alone, several uncompressed, and several with each codec, for each seed. Ranks are joined by TCP, in a
network namespace of their own, where nothing else is counted: this needs root, or user namespaces. Bytes are those of
the last epochs, headers and acknowledgements too; the first epoch is run by itself and taken away, with all that is
sent once.

Writes results.json, curves.svg and table.md to a folder; --document puts the table into a file that has the lines
<!-- mlp NAME: begin --> and <!-- mlp NAME: end -->. What results.json has already is not run again.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import picture

CODECS = ["cast:to=bf16", "cast:to=e4m3", "lossless", "int8", "int4", "onebit", "topk:ratio=0.01", "randomk:ratio=0.01",
          "threshold:value=0.001", "powersgd:rank=4"]
ALONE, PLAIN = "one process", "none"

# In a fresh network namespace: loopback is all there is, and its counter says what was sent. Ranks that are told to be
# on hosts of their own speak TCP.
RUN = """
ip link set lo up
if [ -n "$LINK" ]; then tc qdisc add dev lo root tbf rate "$LINK" burst 256k latency 50ms; fi
"$PLAIT_RUN" -n "$RANKS" --output 0 --no-prefix --timeout 600 \\
  sh -c 'PLAIT_HOST_ID=host$RANK exec "$@"' rank "$@" >&2 || exit 1
awk '$1 == "lo:" { print $10 }' /proc/net/dev
"""


def command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mlp", default="build/examples/mlp/mlp", help="the program")
    parser.add_argument("--run", default="build/tools/run/plait-run", help="its launcher")
    parser.add_argument("--out", default="mlp-results", help="folder of the results")
    parser.add_argument("--data", default="digits", help="digits or strokes")
    parser.add_argument("--hidden", default="1024,1024")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 1")
    parser.add_argument("--link", default="", help="rate of the network, as tc takes it: 1gbit")
    parser.add_argument("--codecs", default=";".join(CODECS), help="separated by semicolons")
    parser.add_argument("--times", action="store_true", help="times in the table, too: where nothing else runs")
    parser.add_argument("--name", help="of the table in the document; default: the data's")
    parser.add_argument("--document", help="a file whose table is replaced")
    options = parser.parse_args()
    for program in (options.mlp, options.run):
        if not shutil.which(program):
            sys.exit(f"{program}: there is no such program; --mlp and --run name them")
    return options


def always(codec):
    """Without it plait leaves a codec out where it is not predicted to save time."""
    return codec + (":" if ":" not in codec else ",") + "use=always"


def run(o, name, seed, epochs):
    """What one training came to: the program's own JSON, and the bytes that crossed the network."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "result.json"
        words = [str(pathlib.Path(o.mlp).resolve()), "--data", o.data, "--hidden", o.hidden, "--epochs", str(epochs),
                 "--seed", str(seed), "--out", str(out)]
        if name not in (ALONE, PLAIN):
            words += ["--codec", always(name)]
        environment = os.environ | {"PLAIT_RUN": str(pathlib.Path(o.run).resolve()), "LINK": o.link,
                                    "RANKS": "1" if name == ALONE else str(o.ranks)}
        unshare = ["unshare", "--net"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
        done = subprocess.run(unshare + ["sh", "-c", RUN, "sh"] + words, env=environment, text=True,
                              capture_output=True)
        if done.returncode != 0:
            lines = done.stderr.splitlines()
            return {"error": next((line[5:] for line in lines if line.startswith("mlp: ")), done.stderr[-300:])}
        return json.loads(out.read_text()) | {"bytes": int(done.stdout)}


def measure(o, name, seed):
    result = run(o, name, seed, o.epochs)
    if "error" in result or name == ALONE:
        return result
    first = run(o, name, seed, 1)
    steps = result["steps"] * (o.epochs - 1) / o.epochs
    result["wire"] = (result["bytes"] - first["bytes"]) / steps / o.ranks  # of a step, sent by each rank
    return result


def measure_all(o, folder):
    """Results by name, then by seed; those of an earlier call are kept, as far as they are of the same kind."""
    kind = {key: getattr(o, key) for key in ("data", "hidden", "epochs", "ranks", "link")}
    file = folder / "results.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    runs = known.get("runs", {}) if known.get("kind") == kind else {}
    for seed in range(1, o.seeds + 1):  # whatever else the machine does meanwhile meets all codecs alike
        for name in [ALONE, PLAIN] + o.codecs.split(";"):
            if "error" not in runs.get(name, {}).get(str(seed), {"error": ""}):
                continue
            result = measure(o, name, seed)
            runs.setdefault(name, {})[str(seed)] = result
            file.write_text(json.dumps({"kind": kind, "runs": runs}, indent=1))
            print(f"{name}, seed {seed}:", result.get("error") or f"{accuracy(result):.2f} %", flush=True)
    return runs


def accuracy(result):
    return 100 * result["epochs"][-1]["accuracy"]


def row(name, runs, plain, times):
    """Of the table: means over the seeds; of the difference from uncompressed, seed by seed, the standard error, too."""
    label = name if name in (ALONE, PLAIN) else f"`{name}`"
    good = {seed: r for seed, r in runs.items() if "error" not in r}
    if not good:
        return [label, next(iter(runs.values()))["error"]]
    cells = [label, f"{statistics.mean(map(accuracy, good.values())):.2f}"]
    pairs = [accuracy(r) - accuracy(plain[seed]) for seed, r in good.items() if seed in plain]
    error = statistics.stdev(pairs) / len(pairs) ** 0.5 if len(pairs) > 1 else math.nan
    difference = "" if name == PLAIN or not pairs else f"{statistics.mean(pairs):+.2f} ± {error:.2f}"
    cells.append(difference.removesuffix(" ± nan"))
    cells.append(f"{statistics.mean(r['epochs'][-1]['loss'] for r in good.values()):.4f}")
    if name == ALONE:
        cells += ["", ""]
    else:
        wire, whole = (statistics.mean(r["wire"] for r in some.values()) for some in (good, plain or good))
        cells += [f"{wire / 1024:,.0f}", f"{whole / wire:.1f}"]
    if times:
        epochs = [e for r in good.values() for e in r["epochs"]]
        cells += [f"{statistics.median(e[key] for e in epochs):.2f}" for key in ("seconds", "waited")]
    return cells


def table(runs, times):
    head = ["codec", "accuracy (%)", "difference (points)", "training loss", "KiB a step", "times less"]
    head += ["epoch (s)", "of it waiting (s)"] if times else []
    plain = {seed: r for seed, r in runs[PLAIN].items() if "error" not in r}
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)] + [row(name, r, plain, times) for name, r in runs.items()]
    return "".join("| " + " | ".join(cells + [""] * (len(head) - len(cells))) + " |\n" for cells in rows)


def put(document, name, text):
    begin, end = f"<!-- mlp {name}: begin -->\n", f"<!-- mlp {name}: end -->\n"
    old = document.read_text()
    if begin not in old or end not in old:
        sys.exit(f"{document}: there are no lines {begin.strip()} and {end.strip()}")
    document.write_text(old[:old.index(begin) + len(begin)] + text + old[old.index(end):])


def main():
    o = command_line()
    folder = pathlib.Path(o.out)
    folder.mkdir(parents=True, exist_ok=True)
    runs = measure_all(o, folder)
    text = table(runs, o.times)
    (folder / "table.md").write_text(text)
    title = f"{o.data}: {o.ranks} processes, hidden layers {o.hidden}, {o.seeds} seeds"
    good = {name: [r for r in by_seed.values() if "error" not in r] for name, by_seed in runs.items()}
    (folder / "curves.svg").write_text(picture.draw(title, good))
    print(text, end="")
    if o.document:
        put(pathlib.Path(o.document), o.name or o.data, text)


if __name__ == "__main__":
    main()
