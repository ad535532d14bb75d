#!/usr/bin/env python3
"""Decodes the defmt log of a firmware: standard input → standard output.

    defmt_text.py FIRMWARE < LOG

Supports only what fixtures/firmware writes: defmt's format 4 in frames of rzCOBS, lines of `println!` with arguments of
type str, usize, u32 and u64. A frame begins with the number of its format string. That is the address of a symbol in
the firmware's section .defmt, and the symbol's name contains the string.
"""
import json
import re
import struct
import sys

from elf32 import Elf

ARGUMENT = re.compile(r"\{=(\w+)(?::(\w+))?\}")
NUMBERS = {"u32": "<I", "usize": "<I", "u64": "<Q"}


def unstuff(frame):
    """Decodes a frame of rzCOBS from its end. A byte below 128 marks those of the seven bytes before it that are zeros
    and were left out; a byte from 128 on gives the number of unchanged bytes before it."""
    rest, out = list(frame), []
    while rest:
        code = rest.pop()
        if code == 0xFF:
            out += [rest.pop() for _ in range(134)]
        elif code >= 0x80:
            out += [0] + [rest.pop() for _ in range((code & 0x7F) + 7)]
        else:
            out += [0 if code >> bit & 1 else rest.pop() for bit in range(6, -1, -1)]
    return bytes(reversed(out))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        value, = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def argument(self, match):
        kind, form = match.groups()
        if kind == "str":
            length = self.number("<I")
            self.at += length
            return self.data[self.at - length:self.at].decode()
        return format(self.number(NUMBERS[kind]), form or "d")


def main():
    firmware, = sys.argv[1:]
    formats = {}
    for name, address in Elf(firmware).symbols(".defmt"):
        if name.startswith("{"):
            formats[address] = json.loads(name)["data"]
    for frame in sys.stdin.buffer.read().split(b"\0"):
        if frame:
            reader = Reader(unstuff(frame))
            print(ARGUMENT.sub(reader.argument, formats[reader.number("<H")]))


main()
