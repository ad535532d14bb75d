#!/usr/bin/env python3
"""Measures the search alone: the cost of a playout relative to that of a move of perft at about the same time.

    ci/speed.py --rounds 15 -- target/release/oncilla --hash=200

Each round runs the search with an evaluator that costs nothing, the same with two threads, and the search with random
answers and encoded planes. Each process searches three times, and the median counts. Before, between and after them
perft is measured (perft 5 from the start position, playing every move to the leaves; the median of five), and a search
is compared with the measurements next to it. For each ratio within a round it prints the median and the quartiles,
because the speed of a shared machine changes from round to round. If perft plays P moves a second, Lc0's search alone
has about P/400 nodes a second.
"""

import argparse
import re
import statistics
import subprocess
import sys

POSITION = ["--fen", "startpos"]


def rate(command):
    """Runs the command and returns the last number before `nps` or `moves/s` in its output."""
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(re.findall(r"(\d+) (?:nps|moves/s)", printed)[-1])


def moves(perft):
    """The speed of perft. One run takes only a fraction of a second, so it is the median of five."""
    return statistics.median(rate([perft]) for _ in range(5))


def spread(name, ratios):
    low, median, high = statistics.quantiles(ratios, n=4)
    print(f"{name:<32} median {median:.2f}, quartiles {low:.2f} and {high:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds, 2 at least (7)")
    parser.add_argument("--nodes", default="1000000", help="nodes of each search (1000000)")
    parser.add_argument("--perft", default="target/release/examples/perft", help="the yardstick's program")
    parser.add_argument("engine", nargs="+", help="after --: the engine and its options")
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds: expected at least 2")
    program, *options = arguments.engine
    search = [program, "bench", *POSITION, "--nodes", arguments.nodes, "--rounds", "3", "--nncache=0", *options]
    rounds = []
    for _ in range(arguments.rounds):
        yardsticks, rates = [moves(arguments.perft)], []
        for case in (["--backend=constant"], ["--backend=constant", "--threads=2"], ["--backend=random"]):
            rates.append(rate([*search, *case]))
            yardsticks.append(moves(arguments.perft))
        one, _, planes = (r / (a + b) * 2 * 400 for r, a, b in zip(rates, yardsticks, yardsticks[1:]))
        rounds.append((one, planes, rates[1] / rates[0]))
        print("P", *yardsticks, "nodes/s", *rates, file=sys.stderr, flush=True)
    for name, ratios in zip(["constant, in P/400", "random, in P/400", "two threads, in one thread"], zip(*rounds)):
        spread(name, ratios)


if __name__ == "__main__":
    main()
