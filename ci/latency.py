#!/usr/bin/env python3
"""Measures how fast a UCI engine answers while it searches: `stop` until `bestmove`, and `isready`.

    ci/latency.py --samples 500 -- target/release/oncilla --backend=host
    ci/latency.py --samples 200 --full 900 --load 4 --option Hash=64 -- target/release/oncilla --backend=random

Each sample starts `go infinite` in one of a few positions, waits for a random time of up to --longest seconds, and
measures the time from a command to its answer. Half of the samples send `isready` before `stop`. With --full all
samples search the start position and only `stop` is measured: the tree is kept from one search to the next, so that it
is soon full.

Prints p50, p99 and the worst time in milliseconds. The exit status is 1 if the worst time is above --isready-limit or
--stop-limit, if the tree was never as full as --full, if an answer is missing, or if the engine exits with an error.
"""

import argparse
import multiprocessing
import random
import sys
import time

from uci import Engine

POSITIONS = [
    "startpos",
    "startpos moves e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6",
    "fen r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/1PN1PN2/PB3PPP/R2QKB1R w KQ - 0 9",
    "fen 8/5pk1/1p2p1p1/p2pP2p/P2P1P1P/1P3KP1/8/8 w - - 0 40",
]


def busy():
    while True:
        pass


def ask(engine, line, answer):
    """Sends a line; returns the milliseconds until a line begins with `answer`, and the lines before that."""
    begun = time.perf_counter()
    engine.say(line)
    lines = engine.lines_until(answer)
    return 1000 * (time.perf_counter() - begun), lines


def fullness(lines):
    """The hashfull of the last line that has one, per mille; 0 if none has."""
    info = next((line for line in reversed(lines) if " hashfull " in line), "").split()
    return int(info[info.index("hashfull") + 1]) if "hashfull" in info else 0


def measure(engine, arguments, rng):
    """Returns the sorted times of the answers to `isready` and to `stop`, and the largest hashfull."""
    ready, stop, fullest = [], [], 0
    for at in range(arguments.samples):
        position = "startpos" if arguments.full else rng.choice(POSITIONS)
        engine.say(f"position {position}")
        engine.say("go infinite")
        time.sleep(rng.uniform(0, arguments.longest))
        if at % 2 == 0 and not arguments.full:
            ready.append(ask(engine, "isready", "readyok")[0])
            time.sleep(rng.uniform(0, arguments.longest))
        took, lines = ask(engine, "stop", "bestmove")
        stop.append(took)
        fullest = max(fullest, fullness(lines))
    return sorted(ready), sorted(stop), fullest


def show(name, times):
    def at(part):
        return times[min(len(times) - 1, int(part * len(times)))]

    print(f"{name}: {len(times)} samples, p50 {at(0.5):.2f} ms, p99 {at(0.99):.2f} ms, worst {times[-1]:.2f} ms")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=500, help="searches (default: 500)")
    parser.add_argument("--longest", type=float, default=0.1, help="seconds before something is asked (default: 0.1)")
    parser.add_argument("--full", type=int, default=0, metavar="N", help="per mille that the tree must come to")
    parser.add_argument("--load", type=int, default=0, help="busy loops beside the engine, at its own priority")
    parser.add_argument("--isready-limit", type=float, metavar="MS", default=float("inf"), help="of the worst answer")
    parser.add_argument("--stop-limit", type=float, metavar="MS", default=float("inf"), help="of the worst answer")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="set by UCI first")
    parser.add_argument("--seed", type=int, default=1, help="of positions and waiting times (default: 1)")
    parser.add_argument("command", nargs="+", help="the engine and its arguments, after --")
    arguments = parser.parse_args()
    if arguments.samples < 2:
        parser.error("--samples: expected at least 2")
    return arguments


def main():
    arguments = parse()
    engine = Engine(arguments.command)
    # Before the measurement, load the network and run the first batches.
    ask(engine, "uci", "uciok")
    for option in arguments.option:
        name, _, value = option.partition("=")
        engine.say(f"setoption name {name} value {value}")
    ask(engine, "isready", "readyok")
    ask(engine, "go nodes 100", "bestmove")
    load = [multiprocessing.Process(target=busy, daemon=True) for _ in range(arguments.load)]
    for process in load:
        process.start()
    ready, stop, fullest = measure(engine, arguments, random.Random(arguments.seed))
    for process in load:
        process.kill()
    engine.quit()
    if ready:
        show("isready while searching -> readyok", ready)
    show("stop -> bestmove", stop)
    if arguments.full:
        print(f"the tree was full to {fullest} per mille")
    is_late = stop[-1] > arguments.stop_limit or bool(ready) and ready[-1] > arguments.isready_limit
    return int(is_late or fullest < arguments.full)


if __name__ == "__main__":
    sys.exit(main())
