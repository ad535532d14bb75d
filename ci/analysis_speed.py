#!/usr/bin/env python3
"""Compares whole games through `oncilla analysis` with the same positions one after another through UCI.

    ci/analysis_speed.py --games 40 --visits 100 -- target/release/oncilla --backend=host

First the engine plays the games, by its policy and a seed. Then, in rounds of some games, both search every position of
them: UCI one position at a time, each as a new game (only with a new tree are the searches the same), with
--uci-threads; analysis all positions at once, with one thread for each. If UCI has one thread, the visits of each root
move and the value are compared in every position. Both run with batches of one position and without smart pruning,
which would end a search before it has all visits. The exit status is 1 if a position differs, or if analysis is less
than --least times as fast in the median of the rounds. (The median, because other work on the machine disturbs some of
them.)
"""

import argparse
import json
import random
import re
import statistics
import sys
import time

import uci

STATS = re.compile(r"info string (\S+)\s+\(.*?\) N:\s+(\d+) \(.*\(Q:\s*(\S+?)\)")
SAME = ["--smart-pruning-factor=0", "--minibatch-size=1"]


class Analysis(uci.Engine):
    """The same for `oncilla analysis`, which answers each query in a line, and ends with its input."""

    def ask(self, queries):
        """Returns the final answers to queries, by id and turn."""
        expected = sum(len(query["analyzeTurns"]) for query in queries)
        for query in queries:
            self.say(json.dumps(query))
        answers = {}
        while len(answers) < expected:
            answer = json.loads(self.line("answer", time.monotonic() + uci.ANSWER_S))
            if "error" in answer:
                self.fail(f"an error for an answer: {answer}")
            answers[answer["id"], answer["turnNumber"]] = answer
        return answers

    def quit(self):
        self.process.stdin.close()
        self.ends("its input's end")


def play(analysis, games, plies, seed):
    """Plays games by the network's policy."""
    chance = random.Random(seed)
    played = [[] for _ in range(games)]
    going = set(range(games))
    for ply in range(plies):
        queries = [
            {"id": str(game), "moves": played[game], "analyzeTurns": [ply], "maxVisits": 1, "includePolicy": True}
            for game in sorted(going)
        ]
        if not queries:
            break
        for (game, _), answer in sorted(analysis.ask(queries).items(), key=lambda pair: int(pair[0][0])):
            policy = answer["policy"]
            if policy:
                played[int(game)].append(chance.choices(list(policy), list(policy.values()))[0])
            else:
                going.remove(int(game))
    return played


def by_uci(engine, games, visits):
    found = {}
    for number, moves in games:
        for turn in range(len(moves) + 1):
            engine.say("ucinewgame")
            engine.say(" ".join(["position startpos moves", *moves[:turn]]) if turn else "position startpos")
            engine.say(f"go nodes {visits}")
            edges = {}
            for line in engine.lines_until("bestmove"):
                match = STATS.match(line)
                if match:
                    edges[match[1]] = (int(match[2]), match[3])
            found[str(number), turn] = edges
    return found


def differences(one, answer):
    """Lists the differences between UCI and analysis in a position."""
    node = one.pop("node", None)
    if node is None:
        # UCI has no statistics of a finished game.
        return [] if not answer["moveInfos"] else ["moves in a finished game"]
    found = []
    visits = {move: n for move, (n, _) in one.items() if n > 0}
    ours = {info["move"]: info["edgeVisits"] for info in answer["moveInfos"]}
    if visits != ours:
        found.append(f"visits {visits} {ours}")
    if node[0] != answer["rootInfo"]["visits"]:
        found.append(f"root visits {node[0]} {answer['rootInfo']['visits']}")
    if abs(float(node[1]) - answer["rootInfo"]["utility"]) > 1.5e-5:
        found.append(f"value {node[1]} {answer['rootInfo']['utility']}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=40, help="(40)")
    parser.add_argument("--plies", type=int, default=60, help="longest game (60)")
    parser.add_argument("--visits", type=int, default=100, help="of each position (100)")
    parser.add_argument("--round", type=int, default=1, help="games that are searched by one and then by the other")
    parser.add_argument("--uci-threads", type=int, default=1, help="Threads of the engine by UCI (1)")
    parser.add_argument("--parallel", type=int, default=0, help="positions at a time in analysis; 0: as it chooses")
    parser.add_argument("--seed", type=int, default=1, help="of the games (1)")
    parser.add_argument("--least", type=float, default=1.5, help="times as fast as UCI (1.5)")
    parser.add_argument("command", nargs="+", help="the engine and its options, after --")
    args = parser.parse_args()
    analysis = Analysis([args.command[0], "analysis", *args.command[1:], *SAME, "--threads=1", f"--parallel={args.parallel}"])
    engine = uci.Engine([*args.command, *SAME, f"--threads={args.uci_threads}", "--verbose-move-stats"])
    engine.say("isready")
    engine.lines_until("readyok")
    games = list(enumerate(play(analysis, args.games, args.plies, args.seed)))
    seconds = {"uci": 0.0, "analysis": 0.0}
    positions, wrong, ratios = 0, [], []
    # UCI's statistics write castling as king takes rook; with the rules of Chess960 analysis does so too.
    for first in range(0, len(games), args.round):
        some = games[first : first + args.round]
        queries = [
            {"id": str(number), "moves": moves, "analyzeTurns": list(range(len(moves) + 1)), "maxVisits": args.visits,
             "rules": "chess960"}
            for number, moves in some
        ]
        took, found = {}, {}
        work = {"uci": lambda: by_uci(engine, some, args.visits), "analysis": lambda: analysis.ask(queries)}
        order = list(work) if (first // args.round) % 2 == 0 else list(work)[::-1]
        for name in order:
            begun = time.monotonic()
            found[name] = work[name]()
            took[name] = time.monotonic() - begun
            seconds[name] += took[name]
        assert found["uci"].keys() == found["analysis"].keys()
        for key in found["uci"]:
            positions += 1
            if args.uci_threads > 1:
                continue
            wrong += [f"game {key[0]}, turn {key[1]}: {text}" for text in differences(found["uci"][key], found["analysis"][key])]
        ratios.append(took["uci"] / took["analysis"])
        print(f"games {first}-{first + len(some) - 1}: {took['uci']:.1f} s {took['analysis']:.1f} s {ratios[-1]:.2f}", flush=True)
    engine.quit()
    analysis.quit()
    ratio = statistics.median(ratios)
    print(
        f"{len(games)} games, {positions} positions, {args.visits} visits: UCI {seconds['uci']:.1f} s, analysis {seconds['analysis']:.1f} s, "
        f"{seconds['uci'] / seconds['analysis']:.2f} times as fast; the median of {len(ratios)} rounds is {ratio:.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}); {len(wrong)} differences"
    )
    for line in wrong[:20]:
        print(line)
    return 1 if wrong or ratio < args.least else 0


if __name__ == "__main__":
    sys.exit(main())
