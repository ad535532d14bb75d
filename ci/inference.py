#!/usr/bin/env python3
"""Measures evaluations per second, and their share of G, the speed of large matrix products on the same cores.

    ci/inference.py --weights maia-1500.pb.gz --weights other.pb.gz -- target/release/oncilla

G is the better of the `gemm` crate (ci/gemm, built here) and OpenBLAS (libopenblas.so.0, if it is installed) at
512x512x512 and 256x256x4096, in GFLOP/s. It uses as many cores as the run next to it: for OpenCL, all that a program
may use. Operations are counted as those of plain convolutions. Because the speed of a shared machine changes from round
to round, each round measures G right before and after each run of `backendbench` and computes the share within the
round. The output is a Markdown table with the medians of all rounds, and G says of which library it is. With
`--keep FILE` rounds are added to a file, and those of earlier runs in it count too: for a machine that is idle for
minutes only. The file begins with what was measured how and where; the rounds of another engine, other options or
another machine are refused.
"""

import argparse
import ctypes
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import time

from identity import files, held

SIZES = [(512, 512, 512), (256, 256, 4096)]
# An OpenCL driver for the CPU uses all of these cores.
CORES = len(os.sched_getaffinity(0))
RUNS = [
    ("host, 1 thread", 1, ["--backend=host", "--backend-opts=threads=1"]),
    ("host, 2 threads", 2, ["--backend=host", "--backend-opts=threads=2"]),
    (f"OpenCL, {CORES} cores", CORES, ["--backend=opencl"]),
]


def build_gemm():
    """Builds the benchmark of the gemm crate."""
    manifest = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gemm", "Cargo.toml")
    target = os.path.abspath(os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "ci", "gemm"))
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", manifest, "--target-dir", target],
        check=True,
    )
    return os.path.join(target, "release", "gemm-yardstick")


class OpenBlas:
    """sgemm of the system's OpenBLAS; without it, there are no rates."""

    def __init__(self):
        try:
            self.blas = ctypes.CDLL("libopenblas.so.0")
        except OSError:
            self.blas = None
            print("OpenBLAS is not here: G is that of the gemm crate", file=sys.stderr)

    def name(self):
        """What the library says of itself, or None."""
        if not self.blas:
            return None
        self.blas.openblas_get_config.restype = ctypes.c_char_p
        return self.blas.openblas_get_config().decode()

    def rates(self, threads, seconds):
        return [self.rate(*size, threads, seconds) for size in SIZES] if self.blas else []

    def rate(self, m, k, n, threads, seconds):
        self.blas.openblas_set_num_threads(threads)
        matrix = lambda length, value: (ctypes.c_float * length)(*([value] * length))
        a, b, c = matrix(m * k, 0.5), matrix(k * n, 0.25), matrix(m * n, 0.0)
        row_major, plain, one, zero = 101, 111, ctypes.c_float(1), ctypes.c_float(0)
        runs, start = 0, None
        while start is None or time.perf_counter() - start < seconds:
            self.blas.cblas_sgemm(row_major, plain, plain, m, n, k, one, a, k, b, n, zero, c, n)
            # The first run is not counted, because it starts the threads.
            runs, start = (runs + 1, start) if start else (0, time.perf_counter())
        return 2 * m * n * k * runs / (time.perf_counter() - start) / 1e9


def g(gemm, blas, threads, seconds):
    """G, and the library that gave it."""
    printed = subprocess.run([gemm, str(threads), str(seconds)], capture_output=True, text=True, check=True).stdout
    rates = [(float(rate), "gemm") for rate in printed.split()]
    return max(rates + [(rate, "OpenBLAS") for rate in blas.rates(threads, seconds)])


def bench(program, weights, batches, options):
    command = [program[0], "backendbench", f"--weights={weights}", "--batch", batches, "--json", *options, *program[1:]]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def cpu():
    """The processor's model, as far as the system says it."""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def asked(arguments, gemm, blas):
    """What all rounds of a file share."""
    engine = shlex.join(arguments.engine)
    return {"engine": engine, "files": files(engine), "cpu": cpu(), "cores": CORES, "gemm": held(gemm),
            "openblas": blas.name(), "seconds": arguments.seconds}


def opened(path, wanted):
    """Returns the file for further rounds, and those that it has. Ends the program if they are of something else."""
    keep = open(path, "a+")
    keep.seek(0)
    lines = [json.loads(line) for line in keep]
    if not lines:
        print(json.dumps({"measured": wanted}), file=keep, flush=True)
        return keep, []
    said = lines[0].get("measured", {}) if isinstance(lines[0], dict) else {}
    other = [f"{what} {said.get(what)!r}, not {value!r}" for what, value in wanted.items() if said.get(what) != value]
    if other:
        sys.exit(f"{path} has other measurements: {'; '.join(other)}. Name another file")
    return keep, lines[1:]


def measure(arguments, gemm, blas, tell):
    """Measures all rounds, and tells each of their measurements."""
    for number in range(arguments.rounds):
        for weights in arguments.weights:
            # Built-in networks have no path.
            path, hashed = (os.path.realpath(weights), held(weights)) if os.path.exists(weights) else (weights, "")
            for name, threads, options in RUNS:
                if arguments.only not in name:
                    continue
                after = g(gemm, blas, threads, arguments.seconds)
                for batch in arguments.batch.split(","):
                    before = after
                    [row] = bench(arguments.engine, weights, batch, options)
                    after = g(gemm, blas, threads, arguments.seconds)
                    yardstick, library = (before[0] + after[0]) / 2, max(before, after)[1]
                    rate, share = row["evals_per_second"], row["gflops"] / yardstick
                    tell([path, hashed, name, int(batch)], [rate, share, yardstick, library])
                    print(f"{number + 1}: {os.path.basename(weights)}, {name}, batch {batch}: {rate:.0f} evals/s, "
                          f"G {yardstick:.0f} by {library}, share {share:.2f}", file=sys.stderr, flush=True)


def table(found):
    print("| network | backend | batch | evals/s | share of G | G | rounds |\n|---|---|---|---|---|---|---|")
    networks = {key[:2] for key in found}
    names = [os.path.basename(path) for path, _ in networks]
    for (path, hashed, name, batch), rounds in found.items():
        # Networks in different folders may have the same file name, and a file may have been written again.
        weights = os.path.basename(path) if names.count(os.path.basename(path)) == 1 else f"{path} {hashed}"
        *columns, libraries = zip(*rounds)
        rate, share, yardstick = map(statistics.median, columns)
        by = "/".join(sorted(set(libraries)))
        print(f"| {weights} | {name} | {batch} | {rate:.0f} | {share:.2f} | {yardstick:.0f} ({by}) | {len(rounds)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    parser.add_argument("--batch", default="1,8,32,128", help="batch sizes (1,8,32,128)")
    parser.add_argument("--weights", action="append", required=True, help="a network; several times for several")
    parser.add_argument("--seconds", type=float, default=0.2, help="how long each product is measured (0.2)")
    parser.add_argument("--keep", help="a file of JSON lines: what is measured, then one for each measurement")
    parser.add_argument("--only", default="", help="runs whose name has this in it")
    parser.add_argument("engine", nargs="+", help="after --: the engine and its options")
    arguments = parser.parse_args()
    gemm, blas = build_gemm(), OpenBlas()
    found, keep = {}, None

    def tell(key, measured):
        found.setdefault(tuple(key), []).append(measured)
        if keep:
            print(json.dumps([*key, *measured]), file=keep, flush=True)

    if arguments.keep:
        keep, rounds = opened(arguments.keep, asked(arguments, gemm, blas))
        for line in rounds:
            found.setdefault(tuple(line[:4]), []).append(line[4:])
    measure(arguments, gemm, blas, tell)
    if not found:
        sys.exit(f"inference.py: no run has {arguments.only!r} in its name")
    table(found)


if __name__ == "__main__":
    main()
