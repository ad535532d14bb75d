"""What the scripts that play games share."""

import argparse
import shutil


class Fault(Exception):
    """An error of an engine, or of a program that checks it."""


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
