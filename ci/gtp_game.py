#!/usr/bin/env python3
"""Plays games of Go by GTP between an engine and GNU Go, which also checks moves and counts.

    ci/gtp_game.py --games 4 -- target/release/oncilla gtp --weights=NETWORK.bin.gz --backend=host --max-visits=50
    ci/gtp_game.py --clock 20 -- target/release/oncilla gtp --weights=NETWORK.bin.gz

The engine plays Black and White in turn. The exit status is 1 if it plays a move that GNU Go refuses, loses on time,
does not answer, gives an answer that is not GTP, exits with an error or resigns within its first moves; also if no game
was counted, or if the two counts of a game are further apart than `--most-apart`; 2 if the arguments are wrong. How far
they may be apart depends on the network, which says what is dead. With `--rules played-out` nobody has to say it, and
the counts must be the same. Needs GNU Go (Debian: gnugo), and otherwise only Python's standard library.
"""

import argparse
import queue
import re
import subprocess
import sys
import threading
import time

from games import Fault, positive, program

# The time that an engine has to answer without a clock, including the first kernel build on a slow driver.
ANSWER_S = 120.0
# A longer game is a fault.
MOST_MOVES = 400
# Who resigns before so many moves of both players has not played.
LEAST_MOVES = 20
# By name: what the engine is told, and what GNU Go is. In a game that is played out by Chinese rules the board counts as
# it lies, so that nobody has to judge what is dead: GNU Go captures all that is before it passes.
AS_IT_LIES = '{"ko":"SIMPLE","scoring":"AREA","tax":"NONE","suicide":false,"hasButton":false,"whiteHandicapBonus":"0",' \
    '"friendlyPassOk":false}'
RULES = {
    "chinese": ("chinese", ["--chinese-rules"]),
    "japanese": ("japanese", ["--japanese-rules"]),
    "played-out": (AS_IT_LIES, ["--chinese-rules", "--play-out-aftermath", "--capture-all-dead"]),
}
COLORS = ["black", "white"]


class Engine:
    """A process that speaks GTP."""

    def __init__(self, name, command, stderr=None):
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.number = 0

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def ask(self, command):
        """Sends a command and returns the text of the answer."""
        self.number += 1
        try:
            self.process.stdin.write(f"{self.number} {command}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Fault(f"{self.name} has ended before {command!r}") from None
        said = []
        while not said or said[-1]:
            try:
                said.append(self.lines.get(timeout=ANSWER_S))
            except queue.Empty:
                raise Fault(f"{self.name}: no answer to {command!r} after {ANSWER_S:.0f} s") from None
            if said[-1] is None:
                raise Fault(f"{self.name} has ended at {command!r}")
        answer = re.fullmatch(rf"([=?]){self.number}(?: (.*))?", "\n".join(said[:-1]), re.DOTALL)
        if not answer:
            raise Fault(f"{self.name}: no GTP in answer to {command!r}: {said!r}")
        sign, text = answer.groups()
        if sign == "?":
            raise Fault(f"{self.name} refuses {command!r}: {text}")
        return text or ""

    def quit(self):
        self.ask("quit")
        try:
            status = self.process.wait(10)
        except subprocess.TimeoutExpired:
            raise Fault(f"{self.name}: still running 10 s after quit") from None
        if status != 0:
            raise Fault(f"{self.name}: exit status {status}")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Game:
    """A game in which the engine plays one color."""

    def __init__(self, engine, referee, arguments, color):
        self.engine, self.referee, self.color = engine, referee, color
        self.left = arguments.clock
        self.slowest = 0.0
        self.moves = []
        for player in [engine, referee]:
            for command in [f"boardsize {arguments.size}", "clear_board", f"komi {arguments.komi}"]:
                player.ask(command)
        engine.ask(f"kata-set-rules {RULES[arguments.rules][0]}")
        if self.left is not None:
            engine.ask(f"time_settings {self.left:.0f} 0 0")

    def play(self):
        """Plays the game. Returns the color that resigned, or None."""
        while self.moves[-2:] != ["pass", "pass"]:
            if len(self.moves) >= MOST_MOVES:
                raise Fault(f"no end after {MOST_MOVES} moves")
            color = COLORS[len(self.moves) % 2]
            move = self.own_move() if color == self.color else self.referee.ask(f"genmove {color}")
            if move.lower() == "resign":
                return color
            other = self.referee if color == self.color else self.engine
            other.ask(f"play {color} {move}")
            self.moves.append(move.lower())
        return None

    def own_move(self):
        if self.left is not None:
            self.engine.ask(f"time_left {self.color} {self.left:.2f} 0")
        begun = time.monotonic()
        move = self.engine.ask(f"genmove {self.color}")
        used = time.monotonic() - begun
        self.slowest = max(self.slowest, used)
        if self.left is not None:
            self.left -= used
            if self.left < 0:
                raise Fault(f"{self.engine.name} lost on time by {-self.left:.3f} s after {len(self.moves)} moves")
        return move


def lead(text):
    """White's points minus Black's."""
    if text.strip() == "0":
        return 0.0
    winner, points = text.strip().split("+")
    return float(points) if winner.upper() == "W" else -float(points)


def counts(engine, referee, most_apart):
    """Both players' count of a game that is over: what they say, and White's points minus Black's."""
    said = [player.ask("final_score") for player in [referee, engine]]
    theirs, ours = map(lead, said)
    if abs(theirs - ours) > most_apart:
        raise Fault(f"the counts are more than {most_apart:g} points apart: {said[0]}, by the engine's count {said[1]}")
    return said, theirs, ours


def play_games(engine, referee, arguments):
    won = agreed = counted = 0
    for number in range(arguments.games):
        color = COLORS[number % 2]
        game = Game(engine, referee, arguments, color)
        loser = game.play()
        if loser:
            if len(game.moves) < LEAST_MOVES:
                raise Fault(f"{loser} resigns after {len(game.moves)} moves")
            winner, result = COLORS[loser == "black"], f"{loser} resigns"
        else:
            said, theirs, ours = counts(engine, referee, arguments.most_apart)
            counted += 1
            agreed += theirs == ours
            winner = COLORS[theirs > 0] if theirs else None
            result = f"{said[0]}, by the engine's count {said[1]}"
        won += winner == color
        left = "" if game.left is None else f", {game.left:.1f} s left"
        print(f"game {number + 1}: the engine is {color}: {result}, {len(game.moves)} moves, "
              f"slowest {game.slowest:.2f} s{left}", flush=True)
    if not counted:
        raise Fault(f"none of {arguments.games} games was counted")
    print(f"{won} of {arguments.games} games won; the scores of {agreed} of {counted} that were counted agree")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=positive, default=2, help="games (default: 2)")
    parser.add_argument("--size", type=positive, default=9, help="sides of the board (default: 9)")
    parser.add_argument("--komi", type=float, default=7.5, help="komi (default: 7.5)")
    parser.add_argument("--rules", choices=sorted(RULES), default="chinese", help="rules (default: chinese)")
    parser.add_argument("--most-apart", type=float, metavar="POINTS", help="of the two counts (default: 0 if played out, "
                        "otherwise no limit)")
    parser.add_argument("--clock", type=float, metavar="SECONDS", help="time of the engine for a game (default: no clock)")
    parser.add_argument("--level", type=int, default=10, help="of GNU Go, 1 to 10 (default: 10)")
    parser.add_argument("--seed", type=positive, default=1, help="of GNU Go's chance (default: 1)")
    parser.add_argument("command", nargs="+", help="the engine and its arguments, after --")
    arguments = parser.parse_args()
    if arguments.most_apart is None:
        arguments.most_apart = 0.0 if arguments.rules == "played-out" else float("inf")
    return arguments


def main():
    arguments = parse()
    engines = []
    try:
        engines.append(Engine("the engine", arguments.command))
        command = [program("gnugo"), "--mode", "gtp", "--never-resign", "--level", str(arguments.level), *RULES[arguments.rules][1]]
        command += ["--seed", str(arguments.seed)]
        engines.append(Engine("GNU Go", command, stderr=subprocess.DEVNULL))
        play_games(*engines, arguments)
        for engine in engines:
            engine.quit()
    except (Fault, OSError) as error:
        print(f"gtp_game.py: {error}", file=sys.stderr)
        return 1
    finally:
        for engine in engines:
            engine.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
