"""What the scripts that play games share. To be imported before python-chess, so that ci/install's is found."""

import argparse
import asyncio
import os
import pathlib
import shutil
import sys
import threading
import time

# Where ci/install puts Python's modules; ci/common says so to the scripts that it starts.
TARGET = os.environ.get("CARGO_TARGET_DIR", pathlib.Path(__file__).parent.parent / "target")
sys.path.append(str(pathlib.Path(TARGET, "ci", "python")))


class Fault(Exception):
    """An error of an engine, or of a program that checks it."""


class OwnTime:
    """A clock that stands still while this program isn't scheduled, so that a stall of the whole machine is not held
    against an engine. An engine that alone is late has no such excuse: a thread that sleeps here wakes in time."""

    STEP_S = 0.005
    # So much of a late wake-up is no sign of a stall: threads and cores take turns.
    LATE_S = 0.05

    def __init__(self):
        self.lock = threading.Lock()
        self.stalled = 0.0
        self.woken = time.monotonic()
        threading.Thread(target=self.beat, daemon=True).start()

    def late(self, now):
        """By how much the next wake-up is later than it may be."""
        return max(0.0, now - self.woken - self.STEP_S - self.LATE_S)

    def beat(self):
        while True:
            time.sleep(self.STEP_S)
            with self.lock:
                now = time.monotonic()
                self.stalled += self.late(now)
                self.woken = now

    def now(self):
        with self.lock:
            now = time.monotonic()
            # After a stall this may be asked before the thread has noticed.
            return now - self.stalled - self.late(now)


def answer(engine, seconds, *position, **how):
    """What `engine`, a SimpleEngine of python-chess, plays; the arguments are those of its `play`. That alone waits for
    ever, unless its limit is a time for the move. Raises Fault after so many seconds."""
    asked = asyncio.wait_for(engine.protocol.play(*position, **how), seconds)
    try:
        return asyncio.run_coroutine_threadsafe(asked, engine.protocol.loop).result()
    except (asyncio.TimeoutError, TimeoutError):
        raise Fault(f"no move after {seconds:.0f} s") from None


def clock(text):
    """(seconds for a side, seconds that a move adds), from BASE or BASE+INCREMENT."""
    base, _, increment = text.partition("+")
    try:
        return float(base), float(increment or 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected BASE or BASE+INCREMENT in seconds, not {text!r}") from None


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, not {text}")
    return number


def program(name):
    """The path of a program, which Debian may have put with its games. It has its package's name."""
    found = shutil.which(name) or shutil.which(name, path="/usr/games")
    if not found:
        raise Fault(f"{name} is missing: ci/install, or apt-get install {name}")
    return found
