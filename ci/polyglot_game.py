#!/usr/bin/env python3
"""Plays a game between two copies of a UCI engine, each behind PolyGlot, and checks PolyGlot's log.

    ci/polyglot_game.py --clock 5+0 --moves 10 -- target/release/oncilla --backend=host

PolyGlot (Debian: polyglot) is an independent UCI client: it sets options, searches, ponders with `go ponder` and
`stop`, and checks the moves with its own rules. python-chess controls it with XBoard's protocol (whole seconds only),
and ends pondering before it sends the move, so that there is no `ponderhit` here (that is tested by cli/tests/uci/
and cli/tests/orders).

The exit status is 1 if a move is illegal, a clock runs out, an engine does not answer or exits with an error, or a `go`
has no `bestmove` or two of them; 2 if the arguments are wrong.
"""

import argparse
import contextlib
import logging
import pathlib
import re
import shlex
import sys
import tempfile

from games import Fault, OwnTime, answer, clock, program

try:
    import chess
    import chess.engine
except ImportError:
    sys.exit("polyglot_game.py: the Python module chess is missing: ci/install, or pip install chess")

# The time that an engine has to start, including the first kernel build on a slow driver, and to answer.
START_S = 120.0
# An engine that has not answered so long after its time was over never will.
LATE_S = 60.0
CONFIGURATION = """[PolyGlot]
EngineDir = {here}
EngineCommand = {command}
Book = false
LogFile = {log}
Log = true
[Engine]
MultiPV = 2
Hash = 32
"""
SENT = re.compile(r"Adapter->Engine: (\w+)(?:.* (infinite|ponder)\b)?")
SAID = re.compile(r"Engine->Adapter: (\w+)")
# Words in PolyGlot's messages about errors.
COMPLAINT = re.compile(r"illegal|error|unknown|unexpected|parse|fatal", re.IGNORECASE)


def start(folder, side, command, stack):
    """Starts PolyGlot with an engine, which `stack` closes. Returns it and the path of its log."""
    log = folder / f"{side}.log"
    configuration = folder / f"{side}.ini"
    configuration.write_text(CONFIGURATION.format(here=pathlib.Path.cwd(), command=shlex.join(command), log=log))
    # PolyGlot writes into its own folder, and starts the engine in the current one.
    adapter = [program("polyglot"), str(configuration)]
    engine = chess.engine.SimpleEngine.popen_xboard(adapter, timeout=START_S, cwd=folder)
    # At once: until it is closed, a thread of python-chess keeps this program from ending.
    stack.callback(engine.close)
    return engine, log


def play(engines, base, increment, moves):
    """Plays a game in which both sides ponder. Returns the board, the least time left, and the time of stalls."""
    board, left, least, own = chess.Board(), [base, base], base, OwnTime()
    while board.fullmove_number <= moves and not board.is_game_over():
        side = 0 if board.turn else 1
        limit = chess.engine.Limit(
            white_clock=left[0], black_clock=left[1], white_inc=increment, black_inc=increment
        )
        begun = own.now()
        move = answer(engines[side], left[side] + LATE_S, board, limit, ponder=True).move
        left[side] -= own.now() - begun
        least = min(least, left[side])
        if left[side] < 0:
            raise Fault(f"{chess.COLOR_NAMES[board.turn]} lost on time, {-left[side]:.3f} s too many")
        left[side] += increment
        if move is None:
            raise Fault(f"{chess.COLOR_NAMES[board.turn]} resigned, or offered a draw, in {board.fen()}")
        # An illegal move would have made python-chess raise an error.
        board.push(move)
    return board, least, own.stalled


def judge(log):
    """Counts the messages between PolyGlot and the engine. Raises Fault for wrong ones."""
    text = log.read_text(errors="replace")
    counts = dict.fromkeys(["go", "go ponder", "ponderhit", "stop", "bestmove"], 0)
    # For each search without an answer, whether an answer would be too early. PolyGlot stops a search and starts the
    # next one at once.
    open_searches = []
    for line in text.splitlines():
        if sent := SENT.search(line):
            word = " ".join(filter(None, sent.groups()))
            counts[word] = counts.get(word, 0) + 1
            if sent[1] == "go":
                open_searches.append(word != "go")
            elif word in ("stop", "ponderhit", "quit"):
                open_searches = [False] * len(open_searches)
        elif (said := SAID.search(line)) and said[1] == "bestmove":
            if not open_searches or open_searches.pop(0):
                raise Fault(f"nobody asked for {line}")
            counts["bestmove"] += 1
        elif not said and COMPLAINT.search(line):
            raise Fault(f"PolyGlot's log: {line}")
    if "Child exited with status 0" not in text:
        raise Fault(f"the engine did not end with status 0: {text[-500:]}")
    # PolyGlot does not wait for the answer of the search that `quit` ends.
    if len(open_searches) > 1:
        raise Fault(f"{len(open_searches)} searches without a bestmove")
    return {word: counts[word] for word in ["go", "go ponder", "ponderhit", "stop", "bestmove"]}


def run(arguments):
    with contextlib.ExitStack() as stack:
        # Closed last, as the engines write into it.
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = [start(folder, side, arguments.command, stack) for side in ("white", "black")]
        board, least, stalled = play([engine for engine, _ in started], *arguments.clock, arguments.moves)
        for engine, _ in started:
            engine.quit()
        counts = [judge(log) for _, log in started]
    searches = ", ".join(f"{sum(count[word] for count in counts)} {word}" for word in counts[0])
    stalls = f", {stalled:.3f} s of stalls not counted" if stalled else ""
    print(f"{len(board.move_stack)} plies behind PolyGlot, least time left {least:.3f} s{stalls}; {searches}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clock", type=clock, default=(5.0, 0.0), metavar="BASE+INC", help="seconds (default: 5+0)")
    parser.add_argument("--moves", type=int, default=10, help="moves of each side (default: 10)")
    parser.add_argument("command", nargs="+", help="the engine and its arguments, after --")
    # The warning that XBoard's protocol can't end a game by a signal is of no interest.
    logging.getLogger("chess.engine").setLevel(logging.ERROR)
    try:
        run(parser.parse_args())
    except (Fault, chess.engine.EngineError, OSError, TimeoutError) as error:
        print(f"polyglot_game.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
