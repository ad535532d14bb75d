#!/usr/bin/env python3
"""Plays a match between two UCI engines with python-chess. It can be resumed: all of its state is in OUT.

    ci/match.py --first "oncilla --weights=a.pb.gz" --second "oncilla --weights=b.pb.gz" --nodes 200 \\
        --book book.epd --games 400 --out match.jsonl
    ci/match.py ... --clock 1+0.1 --second-option UCI_LimitStrength=true --second-option UCI_Elo=1500
    ci/match.py --score match.jsonl

Each opening (drawn from the book by --seed) is played exactly twice, with colours exchanged: engines with fixed nodes
would play the same games again. OUT begins with a line that identifies the match, with hashes of the programs and of
the files that their commands name; then there is a JSON line for each game. The same command, perhaps with more
--games, continues after the last game. It is refused with other arguments, or if a program or network has changed under
its name. After every pair and at the end the score is printed: wins, draws and losses of the first engine, its Elo
difference, and the bounds of 95% by Student's t, from the mean and the spread of the pairs' points (so that the
influence of the opening on both games of a pair is counted once). If all pairs have the same points there are no
bounds. A game ends by the rules, as a draw at the third occurrence of a position or by the fifty-move rule, or as a
draw after --plies plies. With --clock, an engine that exceeds its time loses; one that does not answer at all ends the
match with an error.
"""
import argparse
import contextlib
import functools
import hashlib
import json
import math
import os
import random
import shlex
import statistics
import sys
import time

from games import Fault, answer, clock
from identity import files

try:
    import chess
    import chess.engine
    import chess.pgn
except ImportError:
    sys.exit("match.py: the Python module chess is missing: ci/install, or pip install chess")

SLACK = 0.05  # seconds below zero that are accepted as delay of the pipe
LATE_S = 60.0  # an engine that has not answered so long after its time was over never will
PATIENCE_S = 3600.0  # for a move without a clock


def openings(path):
    """Yields start positions as (FEN, moves in UCI)."""
    with open(path) as f:
        if path.endswith(".pgn"):
            for game in iter(lambda: chess.pgn.read_game(f), None):
                yield game.board().fen(), tuple(m.uci() for m in game.mainline_moves())
        else:
            for line in filter(str.strip, f):
                fields = line.split()
                clocks = fields[4:6] if len(fields) >= 6 and fields[4].isdigit() else ["0", "1"]
                yield " ".join(fields[:4] + clocks), ()


def start(command, options, stack):
    """Starts an engine, which `stack` closes."""
    engine = chess.engine.SimpleEngine.popen_uci(shlex.split(command), timeout=60)
    # At once: until it is closed, a thread of python-chess keeps this program from ending.
    stack.callback(engine.close)
    engine.configure(dict(o.split("=", 1) for o in options))
    return engine


def result_of(board, plies):
    """Returns (result, reason) if the game is over, or else None."""
    outcome = board.outcome()
    if outcome:
        return outcome.result(), outcome.termination.name.lower()
    # Not python-chess's `claim_draw`: that also ends a game in which the mover could repeat but would play on.
    for drawn, how in ((board.is_repetition(3), "threefold_repetition"), (board.is_fifty_moves(), "fifty_moves")):
        if drawn:
            return "1/2-1/2", how
    return ("1/2-1/2", "cut") if len(board.move_stack) >= plies else None


def play(white, black, opening, o):
    fen, moves = opening
    board = chess.Board(fen)
    for uci in moves:
        board.push_uci(uci)
    left = [o.clock[0], o.clock[0]] if o.clock else None
    game = object()  # for a new object python-chess sends ucinewgame
    while not (over := result_of(board, o.plies)):
        mover = 0 if board.turn == chess.WHITE else 1
        limit = chess.engine.Limit(nodes=o.nodes)
        if left:
            white_left, black_left = (max(seconds, 0.001) for seconds in left)
            limit = chess.engine.Limit(
                white_clock=white_left, black_clock=black_left, white_inc=o.clock[1], black_inc=o.clock[1]
            )
        begun = time.monotonic()
        patience = left[mover] + LATE_S if left else PATIENCE_S
        move = answer((white, black)[mover], patience, board, limit, game=game).move
        if left:
            left[mover] -= time.monotonic() - begun
            if left[mover] < -SLACK:
                over = ("0-1" if mover == 0 else "1-0", "time")
                break
            left[mover] += o.clock[1]
        board.push(move)
    return over + ([m.uci() for m in board.move_stack],)


def points(game):
    """The points of the first engine."""
    white = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}[game["result"]]
    return white if game["first"] == "white" else 1 - white


def elo(share):
    share = min(max(share, 1e-4), 1 - 1e-4)
    return -400 * math.log10(1 / share - 1)


@functools.cache
def student(freedom):
    """The bound of 95% in standard errors, if these are estimated with `freedom` degrees of freedom."""
    # Student's density from 0 to √freedom·tan(angle) is that of cos(angle) to the power of freedom - 1, up to a factor.
    factor = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    step = 2e-5 / math.sqrt(freedom)
    angle = area = 0.0
    while area < 0.475:
        area += factor * math.cos(angle + step / 2) ** (freedom - 1) * step
        angle += step
    return math.sqrt(freedom) * math.tan(angle)


def score(games):
    """The score of the match in one line."""
    got = [points(g) for g in games]
    pairs = [(a + b) / 2 for a, b in zip(got[0::2], got[1::2])]
    line = f"{len(got)} games: +{got.count(1.0)} ={got.count(0.5)} -{got.count(0.0)}"
    if not pairs:
        return line
    mean = statistics.mean(pairs)
    if min(pairs) == max(pairs):
        return line + f", {100 * mean:.1f}%, no bounds: all pairs alike"
    error = student(len(pairs) - 1) * statistics.stdev(pairs) / math.sqrt(len(pairs))
    return line + f", {100 * mean:.1f}%, Elo {elo(mean):+.0f} [{elo(mean - error):+.0f}, {elo(mean + error):+.0f}]"


def read(path):
    """Returns (the match's identity or None, the games so far). A line that a crash cut off is dropped, and so is a
    game without its partner."""
    said, games = None, []
    if os.path.exists(path):
        with open(path) as f:
            lines = [json.loads(line) for line in f if line.endswith("\n")]
        if lines and "match" in lines[0]:
            said = lines.pop(0)["match"]
        games = lines[:len(lines) // 2 * 2]
    return said, games


def asked(o, book):
    """The properties that all games of a match share. `openings` is a hash of their order, which depends on the book
    and the seed."""
    drawn = hashlib.sha256(json.dumps(book).encode()).hexdigest()[:16]
    return {"first": o.first, "first_option": o.first_option, "second": o.second, "second_option": o.second_option,
            "nodes": o.nodes, "clock": o.clock and list(o.clock), "plies": o.plies, "openings": drawn,
            "files": files(o.first, o.first_option) | files(o.second, o.second_option)}


def check(said, games, wanted, path):
    """Ends the program if the games in the file belong to another match."""
    if said is None and games:
        line, name, new = map(shlex.quote, (json.dumps({"match": wanted}), path, path + ".new"))
        sys.exit(f"{path} has games but does not say of which match. If they are of this one, go on after:\n"
                 f"{{ printf '%s\\n' {line}; cat {name}; }} >{new} && mv {new} {name}")
    if said is None or said == wanted:
        return
    other = [f"{what} {said.get(what)!r}, not {value!r}" for what, value in wanted.items() if what != "files" and said.get(what) != value]
    if not other and "files" not in said:
        line, name, new = map(shlex.quote, (json.dumps({"match": wanted}), path, path + ".new"))
        sys.exit(f"{path} does not say what its programs and networks held, as it was begun before that was kept. If they are the same, go on after:\n"
                 f"{{ printf '%s\\n' {line}; tail -n +2 {name}; }} >{new} && mv {new} {name}")
    if not other:  # a different command names different files
        before, now = said["files"], wanted["files"]
        other = [f"{name} holds something else" if name in now else f"{name} is not there"
                 for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]
    sys.exit(f"{path} is of another match: {'; '.join(other)}. Name another file")


def play_on(engines, book, games, o):
    """Plays the games that are missing, and writes each to the file."""
    with open(o.out, "a", buffering=1) as f:
        for number in range(len(games), o.games // 2 * 2):
            opening, first = book[number // 2], ("white", "black")[number % 2]
            result, how, moves = play(*(engines if first == "white" else engines[::-1]), opening, o)
            game = {"game": number, "first": first, "result": result, "end": how, "fen": opening[0], "moves": moves}
            games.append(game)
            f.write(json.dumps(game) + "\n")
            if number % 2:
                print(score(games), flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--first", metavar="COMMAND", help="the first engine")
    a.add_argument("--second", metavar="COMMAND", help="the second")
    a.add_argument("--first-option", action="append", default=[], metavar="NAME=VALUE", help="set in the first by UCI")
    a.add_argument("--second-option", action="append", default=[], metavar="NAME=VALUE", help="in the second")
    a.add_argument("--nodes", type=int, help="for each move")
    a.add_argument("--clock", type=clock, metavar="GAME+MOVE", help="seconds a game, seconds a move (0 if left out)")
    a.add_argument("--book", metavar="FILE", help="EPD, or PGN if its name ends so")
    a.add_argument("--games", type=int, default=200, help="two for each opening (default: 200)")
    a.add_argument("--plies", type=int, default=400, help="after which a game is a draw (default: 400)")
    a.add_argument("--seed", type=int, default=1, help="of the choice of openings (default: 1)")
    a.add_argument("--out", metavar="FILE", help="the games, and where to go on")
    a.add_argument("--score", metavar="FILE", help="print the score of a file and end")
    o = a.parse_args()
    if o.score:
        games = read(o.score)[1]
        if not games:
            sys.exit(f"no games in {o.score}")
        print(score(games))
        return
    if not (o.first and o.second and o.book and o.out) or (o.nodes is None) == (o.clock is None):
        a.error("give --first, --second, --book, --out and one of --nodes and --clock")
    book = list(dict.fromkeys(openings(o.book)))
    if o.games < 2:
        a.error("--games: expected at least 2, each opening's two")
    if o.games // 2 > len(book):
        a.error(f"--games: {o.book} has {len(book)} openings, for {2 * len(book)} games at most")
    random.Random(o.seed).shuffle(book)
    (said, games), wanted = read(o.out), asked(o, book)
    check(said, games, wanted, o.out)
    if len(games) >= o.games // 2 * 2:
        print(score(games))
        return
    with open(o.out + ".new", "w") as f:
        f.writelines(json.dumps(line) + "\n" for line in [{"match": wanted}, *games])
    os.replace(o.out + ".new", o.out)
    try:
        with contextlib.ExitStack() as stack:
            engines = [start(*engine, stack) for engine in ((o.first, o.first_option), (o.second, o.second_option))]
            play_on(engines, book, games, o)
            for engine in engines:
                engine.quit()
    except Fault as fault:
        sys.exit(f"match.py: {fault}")


if __name__ == "__main__":
    main()
