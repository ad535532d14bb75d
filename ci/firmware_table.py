#!/usr/bin/env python3
"""Prints a table of the firmware's needs, from its output under QEMU and the sections of its file.

    firmware_table.py SAID FIRMWARE
"""
import collections
import sys

from elf32 import ALLOC, EXECUTE, NO_BITS, WRITE, Elf

# SysTick of QEMU's mps2 machines counts at 25 MHz, and with -icount shift=0 an instruction takes 1 ns: instructions per
# tick.
INSTRUCTIONS = 40
def main():
    said, firmware = sys.argv[1:]
    flash = ram = code = 0
    for section in Elf(firmware).sections:
        if section.flags & ALLOC:
            flash += section.size if section.kind != NO_BITS else 0
            ram += section.size if section.flags & WRITE else 0
            code += section.size if section.flags & EXECUTE else 0
    costs, sizes = collections.defaultdict(lambda: [0, 0, 0, 0]), {}
    for line in open(said):
        words = line.split()
        if words[:1] == ["cost"]:
            # cost GAME AT playouts N ticks N evaluations N ticks N
            numbers = [int(words[i]) for i in (4, 6, 8, 10)]
            costs[words[1]] = [a + b for a, b in zip(costs[words[1]], numbers)]
        elif words[:1] in (["memory"], ["stack"]):
            words = words[1:] if words[0] == "memory" else words[:2]
            sizes.update(zip(words[::2], map(int, words[1::2])))
    kib = lambda n: f"{n / 1024:.1f} KiB"
    print("| what | |\n|---|---|")
    print(f"| Flash | {kib(flash)}, of which network {kib(sizes['network'])}, instructions {kib(code)} |")
    print(f"| RAM that is always taken | {kib(ram)}: tree {kib(sizes['tree'])}, room for the network {kib(sizes['room'])} |")
    print(f"| Stack, high water | {kib(sizes['stack'])} |")
    for game, (playouts, ticks, evaluations, inside) in costs.items():
        each = f"{ticks * INSTRUCTIONS / playouts:,.0f} instructions a playout ({playouts:,} playouts)"
        if evaluations:
            search = (ticks - inside) * INSTRUCTIONS / playouts
            each += f"; an evaluation {inside * INSTRUCTIONS / evaluations:,.0f}, all else {search:,.0f} a playout"
        print(f"| {game} | {each} |")


main()
