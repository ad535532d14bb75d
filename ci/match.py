#!/usr/bin/env python3
"""Plays a match between two settings of a UCI engine, at a fixed number of nodes a move, and says how much better the first is.

    ci/match.py --games 400 --nodes 400 --book openings.epd --results graph.jsonl \\
        --first=--search-graph=graph --second=--search-graph=tree -- target/release/oncilla --threads=1 --minibatch-size=1

Each opening is played twice, with colours changed. Results are kept as they come: the same command goes on where it was
stopped. Without a book, openings are eight random plies, the same in every match. Prints score, Elo and its 95% interval.
"""

import argparse
import json
import math
import pathlib
import random
import shlex

import chess
import chess.engine

LONGEST = 300  # plies; a draw then
RANDOM_PLIES = 8


def from_book(path, seed):
    """Boards of an EPD file, in an order of their own for each seed."""
    lines = [line.split(";")[0].split() for line in path.read_text().splitlines() if line.strip()]
    random.Random(seed).shuffle(lines)
    for fields in lines:
        yield chess.Board(" ".join(fields[:4]) + " 0 1")


def at_random(seed):
    generator = random.Random(seed)
    while True:
        board = chess.Board()
        for _ in range(RANDOM_PLIES):
            if board.is_game_over():
                break
            board.push(generator.choice(sorted(board.legal_moves, key=chess.Move.uci)))
        if not board.is_game_over():
            yield board


def play(board, white, black, limit, game):
    """The result for White: 1, 0.5 or 0."""
    while not board.is_game_over(claim_draw=True) and board.ply() < LONGEST:
        mover = white if board.turn == chess.WHITE else black
        board.push(mover.play(board, limit, game=game).move)
    return {"1-0": 1.0, "0-1": 0.0}.get(board.result(claim_draw=True), 0.5)


def elo(score):
    score = min(max(score, 0.001), 0.999)
    return -400 * math.log10(1 / score - 1)


def summary(scores):
    mean = sum(scores) / len(scores)
    variance = sum((score - mean) ** 2 for score in scores) / max(1, len(scores) - 1)
    error = 1.96 * math.sqrt(variance / len(scores))
    low, high = elo(mean - error), elo(mean + error)
    return f"{len(scores)} games, the first scores {100 * mean:.1f}%: {elo(mean):+.0f} Elo [{low:+.0f}, {high:+.0f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=400, help="nodes a move, those of earlier moves not counted (400)")
    parser.add_argument("--book", type=pathlib.Path, help="an EPD file with openings")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--results", type=pathlib.Path, required=True, help="a JSON line for each game")
    parser.add_argument("--first", default="", help="options of the first player")
    parser.add_argument("--second", default="", help="options of the second")
    parser.add_argument("engine", nargs="+", help="after --: the engine and options of both")
    arguments = parser.parse_args()
    scores = []
    if arguments.results.exists():
        scores = [json.loads(line)["score"] for line in arguments.results.read_text().splitlines()]
    openings = from_book(arguments.book, arguments.seed) if arguments.book else at_random(arguments.seed)
    both = [*arguments.engine, "--nodes-as-playouts=true", "--smart-pruning-factor=0"]
    limit = chess.engine.Limit(nodes=arguments.nodes)
    start = chess.engine.SimpleEngine.popen_uci
    with start(both + shlex.split(arguments.first)) as first, start(both + shlex.split(arguments.second)) as second:
        for game, opening in enumerate(twice(openings)):
            if game >= arguments.games:
                break
            if game < len(scores):
                continue
            has_white = game % 2 == 0
            result = play(opening, *((first, second) if has_white else (second, first)), limit, game)
            scores.append(result if has_white else 1 - result)
            with arguments.results.open("a") as results:
                results.write(json.dumps({"game": game, "score": scores[-1], "plies": opening.ply()}) + "\n")
    print(summary(scores))


def twice(openings):
    for board in openings:
        yield board.copy()
        yield board.copy()


if __name__ == "__main__":
    main()
