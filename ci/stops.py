#!/usr/bin/env python3
"""Measures the time of a UCI engine from `stop` to `bestmove`, optionally with other programs on the same cores.

    ci/stops.py [--stops 300] [--load 4] [--full 900] [--option Hash=64] -- target/release/oncilla --backend=random

Searches of the start position with `go infinite` are stopped after a random time. The tree is kept from one search to
the next, so that it is soon full. Prints the median, 99th percentile and worst time, and how full the tree was. The
exit status is 1 if a time is above `--limit` milliseconds (0: no limit), if the tree was never as full as `--full`
(`hashfull`, per mille), if an answer is missing, or if the engine exits with an error.
"""

import argparse
import multiprocessing
import random
import sys
import time

from uci import Engine


def busy():
    while True:
        pass


def measure(engine, stops, rng):
    """Returns the milliseconds from each `stop` to its `bestmove`, and the largest hashfull."""
    took, fullest = [], 0
    for _ in range(stops):
        engine.say("go infinite")
        time.sleep(rng.uniform(0.02, 0.2))
        begun = time.perf_counter()
        engine.say("stop")
        lines = engine.lines_until("bestmove")
        took.append(1000 * (time.perf_counter() - begun))
        info = next((line for line in reversed(lines) if " hashfull " in line), "").split()
        if "hashfull" in info:
            fullest = max(fullest, int(info[info.index("hashfull") + 1]))
    return sorted(took), fullest


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stops", type=int, default=300)
    parser.add_argument("--load", type=int, default=0, help="busy loops beside the engine, at its own priority")
    parser.add_argument("--limit", type=float, default=0, help="milliseconds that no answer may take longer than")
    parser.add_argument("--full", type=int, default=0, help="per mille that the tree must come to")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    engine = Engine(args.command)
    for option in args.option:
        name, _, value = option.partition("=")
        engine.say(f"setoption name {name} value {value}")
    engine.say("isready")
    engine.lines_until("readyok")
    load = [multiprocessing.Process(target=busy, daemon=True) for _ in range(args.load)]
    for process in load:
        process.start()
    took, fullest = measure(engine, args.stops, random.Random(1))
    for process in load:
        process.kill()
    engine.quit()
    median, late, worst = took[len(took) // 2], took[len(took) * 99 // 100], took[-1]
    print(f"{len(took)} stops: median {median:.1f} ms, p99 {late:.1f} ms, worst {worst:.1f} ms; hashfull {fullest}")
    return int(bool(args.limit) and worst > args.limit or fullest < args.full)


if __name__ == "__main__":
    sys.exit(main())
