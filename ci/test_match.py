#!/usr/bin/env python3
"""Tests of match.py: a match can only be continued with the same programs and networks, and its score is right."""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import match
from identity import files, held

MATCH = Path(__file__).resolve().parent / "match.py"

# An engine that plays the first legal move.
ENGINE = """#!/usr/bin/env python3
import chess
board = chess.Board()
while (line := input()) != "quit":
    word, *rest = line.split()
    if word == "uci": print("option name WeightsFile type string default x\\nuciok", flush=True)
    if word == "isready": print("readyok", flush=True)
    if word == "position":
        at = rest.index("moves") if "moves" in rest else len(rest)
        board = chess.Board() if rest[0] == "startpos" else chess.Board(" ".join(rest[1:at]))
        for move in rest[at + 1:]: board.push_uci(move)
    if word == "go": print("bestmove", next(iter(board.legal_moves)), flush=True)
"""


class Match(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.engine, self.network, self.out = (self.folder / name for name in ["engine", "net.pb", "out.jsonl"])
        self.engine.write_text(ENGINE)
        self.engine.chmod(0o755)
        self.network.write_bytes(b"first")
        book = [f"rnbqkbnr/pppppppp/8/8/8/{rank}/PPPPPPPP/RNBQKB1R b KQkq -" for rank in ["5N2", "7N"]]
        (self.folder / "book.epd").write_text("\n".join(book))

    def play(self, games, *more, network="--weights={}"):
        """Returns the output, or the reason for a refusal."""
        command = f"{self.engine} {network.format(self.network)}"
        arguments = ["--first", command, "--second", str(self.engine), "--nodes", "1", "--plies", "4", "--book", str(self.folder / "book.epd")]
        command = [sys.executable, str(MATCH), *arguments, "--out", str(self.out), "--games", str(games), *more]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else f"refused: {done.stderr}"

    def score(self):
        return subprocess.run([sys.executable, str(MATCH), "--score", str(self.out)], capture_output=True, text=True)

    def header(self):
        return json.loads(self.out.read_text().splitlines()[0])["match"]

    def test_the_same_match_goes_on(self):
        self.assertIn("2 games: +0 =2 -0", self.play(2))
        self.assertEqual(set(self.header()["files"]), {str(self.engine), str(self.network)})
        self.assertIn("4 games: +0 =4 -0", self.play(4))

    def test_another_network_under_the_same_name_is_refused(self):
        for network in ["--weights={}", "--weights {}"]:
            with self.subTest(network):
                self.out.unlink(missing_ok=True)
                self.network.write_bytes(b"first")
                self.play(2, network=network)
                self.network.write_bytes(b"second")
                self.assertIn(f"another match: {self.network} holds something else. Name", self.play(4, network=network))
                self.network.unlink()
                self.assertIn(f"another match: {self.network} is not there. Name", self.play(4, network=network))

    def test_options_name_networks_too(self):
        option = ["--second-option", f"WeightsFile={self.network}"]
        self.play(2, *option, network="")
        self.network.write_bytes(b"second")
        self.assertIn(f"{self.network} holds something else", self.play(4, *option, network=""))

    def test_another_program_under_the_same_name_is_refused(self):
        self.play(2)
        self.engine.write_text(ENGINE + "# built again\n")
        self.assertIn(f"another match: {self.engine} holds something else", self.play(4))

    def test_files_of_before_are_refused_with_what_to_do(self):
        self.play(2)
        header, *games = self.out.read_text().splitlines()
        match = {what: value for what, value in json.loads(header)["match"].items() if what != "files"}
        self.out.write_text("\n".join([json.dumps({"match": match}), *games, ""]))
        refused = self.play(4)
        self.assertIn("does not say what its programs and networks held", refused)
        self.assertIn("nodes 1, not 2", self.play(4, "--nodes", "2"))
        self.assertIn("2 games:", self.score().stdout)
        subprocess.run(refused.splitlines()[-1], shell=True, check=True)
        self.assertIn("4 games: +0 =4 -0", self.play(4))

    def test_the_score_of_a_file_that_is_not_there_is_an_error(self):
        score = self.score()
        self.assertNotEqual(score.returncode, 0)
        self.assertIn(f"no games in {self.out}", score.stderr)

    def test_programs_behind_others_are_found_in_the_path(self):
        program = self.folder / "engine-in-path"
        shutil.copy(self.engine, program)
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}):
            found = files("env -u engine-in-path engine-in-path --backend=engine")
            self.assertEqual(found["engine-in-path"], held(program))
            self.assertEqual(set(found), {"env", "engine-in-path"})


def game(first, result):
    return {"first": first, "result": result}


class Statistics(unittest.TestCase):
    def test_points_are_those_of_the_first_engine(self):
        for result, white in [("1-0", 1.0), ("0-1", 0.0), ("1/2-1/2", 0.5)]:
            with self.subTest(result):
                self.assertEqual(match.points(game("white", result)), white)
                self.assertEqual(match.points(game("black", result)), 1 - white)

    def test_quantiles_of_student(self):
        # From tables: the bounds of 95% on both sides.
        for freedom, bound in [(1, 12.7062), (4, 2.7764), (30, 2.0423)]:
            with self.subTest(freedom):
                self.assertAlmostEqual(match.student(freedom) / bound, 1, delta=1e-3)

    def test_wins_with_both_colours_count_for_the_first_engine(self):
        won = [game("white", "1-0"), game("black", "0-1")]
        lost = [game("white", "0-1"), game("black", "1-0")]
        self.assertEqual(match.score(won), "2 games: +2 =0 -0, 100.0%, no bounds: all pairs alike")
        self.assertEqual(match.score(lost), "2 games: +0 =0 -2, 0.0%, no bounds: all pairs alike")

    def test_bounds_are_those_of_the_pairs(self):
        drawn = [game("white", "1/2-1/2"), game("black", "0-1")]
        evened = [game("white", "1-0"), game("black", "1-0")]
        # Pairs of 0.75, 0.5 and 0.75 points: the mean is 2/3, its standard error 1/12, and the bound 4.303 of those.
        half = 4.3027 / 12
        low, middle, high = (round(400 * math.log10(p / (1 - p))) for p in (2 / 3 - half, 2 / 3, 0.9999))
        self.assertGreater(2 / 3 + half, 1)
        bounds = f"6 games: +3 =2 -1, 66.7%, Elo {middle:+d} [{low:+d}, {high:+d}]"
        self.assertEqual(match.score(drawn + evened + drawn), bounds)


if __name__ == "__main__":
    unittest.main()
