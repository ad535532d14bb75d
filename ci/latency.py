#!/usr/bin/env python3
"""Measures how fast a UCI engine answers while it searches: `isready`, and `stop` until `bestmove`.

    ci/latency.py --samples 500 -- target/release/oncilla --backend=host

Each sample starts `go infinite` in one of a few positions, waits for a random time of up to --longest seconds, and
measures the time from a command to its answer. Half of the samples send `isready` before `stop`. Prints p50, p99 and
the worst time in milliseconds. The exit status is 1 if the worst time is above --isready-limit or --stop-limit, if an
answer is missing, or if the engine exits with an error.
"""

import argparse
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


def ask(engine, line, answer):
    """Sends a line; returns the milliseconds until a line begins with `answer`."""
    begun = time.perf_counter()
    engine.say(line)
    engine.lines_until(answer)
    return 1000 * (time.perf_counter() - begun)


def measure(engine, samples, longest, rng):
    ready, stop = [], []
    for at in range(samples):
        engine.say(f"position {rng.choice(POSITIONS)}")
        engine.say("go infinite")
        time.sleep(rng.uniform(0, longest))
        if at % 2 == 0:
            ready.append(ask(engine, "isready", "readyok"))
            time.sleep(rng.uniform(0, longest))
        stop.append(ask(engine, "stop", "bestmove"))
    return sorted(ready), sorted(stop)


def show(name, times):
    def at(part):
        return times[min(len(times) - 1, int(part * len(times)))]

    print(f"{name}: {len(times)} samples, p50 {at(0.5):.2f} ms, p99 {at(0.99):.2f} ms, worst {times[-1]:.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=500, help="searches (default: 500)")
    parser.add_argument("--longest", type=float, default=0.1, help="seconds before something is asked (default: 0.1)")
    parser.add_argument("--isready-limit", type=float, metavar="MS", default=float("inf"))
    parser.add_argument("--stop-limit", type=float, metavar="MS", default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs="+", help="the engine and its arguments, after --")
    arguments = parser.parse_args()
    if arguments.samples < 1:
        parser.error("--samples: expected at least 1")
    engine = Engine(arguments.command)
    # Before the measurement, load the network and run the first batches.
    ask(engine, "uci", "uciok")
    ask(engine, "isready", "readyok")
    ask(engine, "go nodes 100", "bestmove")
    ready, stop = measure(engine, arguments.samples, arguments.longest, random.Random(arguments.seed))
    engine.quit()
    show("isready while searching -> readyok", ready)
    show("stop -> bestmove", stop)
    return int(ready[-1] > arguments.isready_limit or stop[-1] > arguments.stop_limit)


if __name__ == "__main__":
    sys.exit(main())
