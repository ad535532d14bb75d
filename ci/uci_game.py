#!/usr/bin/env python3
"""Plays games between two copies of a UCI engine with python-chess, and checks everything that the engines write.

    ci/uci_game.py --clock 1+0.1 --moves 40 -- target/release/oncilla --backend=host
    ci/uci_game.py --nodes 100 --moves 40 --backend opencl -- target/release/oncilla

The exit status is 1 if an engine makes an illegal move, loses on time, does not answer, exits with an error or writes a
line that is not UCI, or if the host does the work of the backend that was named; 2 if the arguments are wrong. If a
game ends early, another one follows until both sides have played the number of moves. Time in which this script was not
scheduled itself, because the whole machine stalled, is on nobody's clock.
"""

import argparse
import asyncio
import logging
import random
import re
import sys

from games import Fault, OwnTime, clock, positive

try:
    import chess
    import chess.engine
except ImportError:
    sys.exit("uci_game.py: the Python module chess is missing: ci/install, or pip install chess")

# The time that an engine has to start, including the first kernel build on a slow driver, and to answer without a
# clock.
START_S = 120.0
ANSWER_S = 60.0
# Random plies at the beginning of each game, so that games differ.
OPENING_PLIES = 4
# Fields that the info lines of every search must contain.
INFO_EXPECTED = ["depth", "time", "nodes", "nps", "score", "pv"]
# The most faults that are printed: a broken engine has many.
FAULTS_SHOWN = 10

INTEGER = r"-?\d+"
SCORE = rf"cp {INTEGER}(?: (?:lower|upper)bound)?|mate {INTEGER}(?: (?:lower|upper)bound)?"
MOVE = r"(?:[a-h][1-8][a-h][1-8][qrbn]?|0000)"
INFO_FIELD = "|".join(
    [
        rf"(?:depth|seldepth|time|nodes|nps|hashfull|tbhits|multipv|cpuload|currmovenumber|movesleft) {INTEGER}",
        rf"score (?:{SCORE})",
        rf"wdl {INTEGER} {INTEGER} {INTEGER}",
        rf"currmove {MOVE}",
        rf"pv(?: {MOVE})+",
    ]
)
LINES = {
    "id": r"id (?:name|author) \S.*",
    "uciok": r"uciok",
    "readyok": r"readyok",
    "option": r"option name \S.* type (?:check|spin|combo|button|string)(?: .*)?",
    "string": r"info string .*",
    "info": rf"info(?: (?:{INFO_FIELD}))+",
    "bestmove": rf"bestmove {MOVE}(?: ponder {MOVE})?",
}
LINES = {kind: re.compile(pattern) for kind, pattern in LINES.items()}


# Oncilla's messages if the host does the work of a device.
STANDS_IN = re.compile(r"info string .*the host (?:evaluates|takes over|runs the network)")


class Transcript(logging.Handler):
    """Reads python-chess's log: every line to and from an engine, and the library's own warnings."""

    SENT, SAID, STDERR = "%s: << %s", "%s: >> %s", "%s: stderr >> %s"

    def __init__(self, backend):
        super().__init__(logging.DEBUG)
        self.backend = backend
        self.faults = []
        self.counts = dict.fromkeys(["go", *LINES, "stderr"], 0)
        self.time = OwnTime()
        self.asked = self.answered = 0.0

    def emit(self, record):
        if record.msg == self.SENT:
            self.sent(record.args[1])
        elif record.msg == self.SAID:
            self.said(record.args[1])
        elif record.msg == self.STDERR:
            # Messages for a person, which are not part of the protocol.
            self.counts["stderr"] += 1
            print(f"stderr: {record.args[1]}", file=sys.stderr)
        elif record.levelno >= logging.WARNING:
            self.faults.append(record.getMessage())

    def sent(self, line):
        if line.split()[:1] == ["go"]:
            self.counts["go"] += 1
            self.asked = self.time.now()

    def said(self, line):
        kind = next((kind for kind, pattern in LINES.items() if pattern.fullmatch(line)), None)
        if kind is None:
            self.faults.append(f"stray output: {line!r}")
            return
        self.counts[kind] += 1
        if self.backend and STANDS_IN.match(line):
            self.faults.append(f"another backend was named: {line!r}")
        if kind == "bestmove":
            self.answered = self.time.now()

    def check(self):
        if self.faults:
            raise Fault(f"{len(self.faults)} faults")
        if self.counts["go"] != self.counts["bestmove"]:
            raise Fault(f"{self.counts['bestmove']} bestmoves for {self.counts['go']} go commands")


class Clock:
    """The clocks of both sides, in seconds."""

    def __init__(self, base, increment):
        self.left = {chess.WHITE: base, chess.BLACK: base}
        self.increment = increment
        self.least = base

    def limit(self):
        return chess.engine.Limit(
            white_clock=self.left[chess.WHITE],
            black_clock=self.left[chess.BLACK],
            white_inc=self.increment,
            black_inc=self.increment,
        )

    def used(self, side, seconds):
        self.left[side] -= seconds
        self.least = min(self.least, self.left[side])
        if self.left[side] < 0:
            raise Fault(f"{chess.COLOR_NAMES[side]} lost on time: {seconds:.3f} s, {-self.left[side]:.3f} s too many")
        self.left[side] += self.increment


def opening(rng):
    """Returns a board after some random legal moves; the game is not over."""
    while True:
        board = chess.Board()
        for _ in range(OPENING_PLIES):
            board.push(rng.choice(list(board.legal_moves)))
        if not board.is_game_over():
            return board


async def think(engine, board, limit, game, transcript):
    """Returns the engine's move, and the measured seconds from `go` to `bestmove`."""
    try:
        result = await asyncio.wait_for(engine.play(board, limit, game=game, info=chess.engine.INFO_ALL), ANSWER_S)
    except asyncio.TimeoutError:
        raise Fault(f"no bestmove after {ANSWER_S:.0f} s in {board.fen()}") from None
    if result.move is None:
        raise Fault(f"no move in {board.fen()}")
    missing = [field for field in INFO_EXPECTED if field not in result.info]
    if missing:
        raise Fault(f"no {', '.join(missing)} in the info lines for {board.fen()}")
    if result.info["pv"][:1] != [result.move]:
        pv = " ".join(move.uci() for move in result.info["pv"])
        raise Fault(f"bestmove {result.move}, but the last pv is {pv} in {board.fen()}")
    return result.move, transcript.answered - transcript.asked


async def play_games(engines, arguments, rng, transcript):
    """Plays until the plies are used up. Returns the number of games, the slowest move and the least time left."""
    plies, games, slowest, least = 2 * arguments.moves, 0, 0.0, None
    while plies > 0:
        games += 1
        board = opening(rng)
        clock = Clock(*arguments.clock) if arguments.clock else None
        while plies > 0 and not board.is_game_over():
            limit = clock.limit() if clock else chess.engine.Limit(nodes=arguments.nodes)
            move, seconds = await think(engines[board.turn], board, limit, games, transcript)
            slowest = max(slowest, seconds)
            if clock:
                clock.used(board.turn, seconds)
            # python-chess would have raised an error for an illegal move; this check does not depend on it.
            if move not in board.legal_moves:
                raise Fault(f"illegal move {move} in {board.fen()}")
            board.push(move)
            plies -= 1
        if clock:
            least = clock.least if least is None else min(least, clock.least)
    return games, slowest, least


async def start(command):
    try:
        return (await asyncio.wait_for(chess.engine.popen_uci(command), START_S))[1]
    except asyncio.TimeoutError:
        raise Fault(f"no uciok after {START_S:.0f} s") from None


async def ready(engine):
    try:
        await asyncio.wait_for(engine.ping(), START_S)
    except asyncio.TimeoutError:
        raise Fault(f"no readyok after {START_S:.0f} s") from None


async def quit_(engine):
    try:
        await asyncio.wait_for(engine.quit(), 10)
    except asyncio.TimeoutError:
        raise Fault("still running 10 s after quit") from None
    status = engine.returncode.result()
    if status != 0:
        raise Fault(f"exit status {status} after quit")


async def match(arguments, transcript):
    engines = {side: await start(arguments.command) for side in chess.COLORS}
    # Load the network and build the kernels before any clock runs.
    for engine in engines.values():
        await ready(engine)
    result = await play_games(engines, arguments, random.Random(arguments.seed), transcript)
    for engine in engines.values():
        await quit_(engine)
    transcript.check()
    return result


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    limit = parser.add_mutually_exclusive_group(required=True)
    limit.add_argument("--clock", type=clock, metavar="BASE+INC", help="seconds for each side, and seconds a move adds")
    limit.add_argument("--nodes", type=positive, help="nodes for each move")
    parser.add_argument("--moves", type=positive, default=40, help="moves of each side (default: 40)")
    parser.add_argument("--seed", type=int, default=1, help="of the random openings (default: 1)")
    parser.add_argument("--backend", help="of Oncilla: its flag --backend")
    parser.add_argument("command", nargs="+", help="the engine and its arguments, after --")
    arguments = parser.parse_args()
    if arguments.backend:
        arguments.command.append(f"--backend={arguments.backend}")
    return arguments


def main():
    arguments = parse()
    transcript = Transcript(arguments.backend)
    chess.engine.LOGGER.addHandler(transcript)
    chess.engine.LOGGER.setLevel(logging.DEBUG)
    chess.engine.LOGGER.propagate = False
    try:
        games, slowest, least = asyncio.run(match(arguments, transcript))
    except (Fault, chess.engine.EngineError, OSError) as error:
        print(f"uci_game.py: {error}", file=sys.stderr)
        for fault in transcript.faults[:FAULTS_SHOWN]:
            print(f"uci_game.py: {fault}", file=sys.stderr)
        return 1
    left = "" if least is None else f", least time left {least:.3f} s"
    said = ", ".join(f"{count} {kind}" for kind, count in transcript.counts.items() if count)
    stalled = transcript.time.stalled
    stalls = f", {stalled:.3f} s of stalls not counted" if stalled else ""
    print(f"{arguments.moves} moves a side in {games} games: slowest {slowest:.3f} s{left}{stalls}; {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
