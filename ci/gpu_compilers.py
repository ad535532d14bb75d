#!/usr/bin/env python3
"""Compiles the kernels for real GPUs without one, with clang: for AMD's GCN (Polaris) with libclc, for NVIDIA's PTX.

If a compiler can't keep sums in registers, they go to memory at each step, which makes a convolution several times
slower; a function that is called and not inlined costs as much. The kernels may have neither. Nor may an item have more
registers than MOST_REGISTERS says, for the more it has, the fewer are on a unit at once to wait for memory in turns.
With --list it prints the instructions and registers of each kernel.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product as product_of
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "opencl/src/kernels"
CLANGS = ["clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang-14"]
LIBCLC = Path("/usr/lib/clc/polaris10-amdgcn-mesa-mesa3d.bc")
BOARD = "-DRANKS=8 -DFILES=8"
# A Go board: its number of squares is not a multiple of four.
GOBAN = "-DRANKS=19 -DFILES=19"
WITHIN = "-DWITHIN_WINOGRAD -DSQUARES=64 "


def product(rows, channels, depth, columns=8):
    return f"-DLX={columns} -DLY=8 -DITEM_ROWS={rows} -DITEM_CHANNELS={channels} -DDEPTH={depth}"


# The family of kernels, the files that come before its own, and options as launchers set them. Activations: relu, and
# mish for attention bodies.
CASES = [
    # With int8, DEPTH is at most 16.
    (family, before, f"{board} {product(*sizes)} {more} {acts}".replace("32 -DINT8", "16 -DINT8"))
    for sizes in [(4, 4, 8), (8, 4, 16), (4, 4, 0), (8, 8, 8), (4, 4, 32, 4)]
    for acts in ["-DACTS=2", "-DACTS=4"]
    for family, before, board, more in [
        ("conv", ["product"], BOARD, ""),
        ("conv", ["product"], BOARD, "-DWEIGHTS_FP16"),
        ("conv", ["product"], BOARD, "-DINT8"),
        ("winograd", ["se", "product"], BOARD, WITHIN + "-DTILE=4 -DGROUP_ROWS=64 -DLANES=64"),
        ("winograd", ["se", "product"], BOARD, WITHIN + "-DTILE=2 -DGROUP_ROWS=64 -DLANES=64"),
    ]
] + [
    (family, before, f"{GOBAN} {product(*sizes)} {more} -DACTS=2".replace("32 -DINT8", "16 -DINT8"))
    for sizes in [(4, 4, 8), (8, 4, 16), (8, 8, 8), (4, 4, 32, 4)]
    for family, before, more in [
        ("conv", ["product"], "-DWITH_FIVE=1"),
        ("conv", ["product"], "-DWITH_FIVE=1 -DWEIGHTS_FP16"),
        ("conv", ["product"], "-DINT8"),
        ("winograd", ["se", "product"], "-DWITHIN_WINOGRAD -DSQUARES=361 -DTILE=4 -DGROUP_ROWS=64 -DLANES=64"),
        ("winograd", ["se", "product"], "-DWITHIN_WINOGRAD -DSQUARES=361 -DTILE=2 -DGROUP_ROWS=64 -DLANES=64"),
    ]
] + [
    ("affine", [], "-DLANES=64 -DACTS=6"),
    ("pool", [], "-DLANES=64 -DLINE=16 -DACTS=6"),
    ("attention", [], "-DSQUARES=64 -DLANES=64 -DFROM=64 -DTO=64 -DPART=32 -DOUTPUTS=4096 -DHEADS=8 -DACTS=1"),
    ("dense", [], "-DLANES=64 -DROWS=2 -DIN_FOURS -DACTS=4"),
    ("dense", [], "-DLANES=64 -DROWS=8 -DIN_FOURS -DACTS=4"),
    ("dense", [], "-DLANES=64 -DROWS=8 -DINT8 -DACTS=4"),
    ("norm", [], "-DLANES=64 -DLINE=16 -DACTS=1"),
    ("norm", [], "-DLANES=128 -DLINE=16 -DCHANNELS=256 -DACTS=1"),
    ("se", [], "-DLANES=256 -DSQUARES=64 -DACTS=2"),
    ("elementwise", [], "-DLANES=64 -DACTS=1"),
    ("gather", [], "-DLANES=64 -DACTS=1"),
    ("quantise", [], "-DLANES=64 -DACTS=1"),
    ("softmax", [], "-DACTS=1"),
]

# In position.cl one group computes all layers of a position: its number of items, and the options of each family there.
ITEMS = 256
ALONE = {
    "conv": f"{BOARD} -DLX=16 -DLY=16 -DITEM_ROWS=4 -DITEM_CHANNELS=4 -DDEPTH=16",
    "se": "-DSQUARES=64 -DLANES=256",
    "dense": "-DLANES=256 -DROWS=1",
    "gather": "-DLANES=256",
    "attention": "-DSQUARES=64 -DLANES=256 -DFROM=64 -DTO=64 -DPART=32 -DOUTPUTS=4096 -DHEADS=8",
    "norm": "-DLANES=256 -DLINE=16",
    "elementwise": "-DLANES=256",
    "affine": "-DLANES=256",
    "pool": "-DLANES=256 -DLINE=16",
}
# A tower with squeeze and excitation, an attention body, and a Go network.
NETWORKS = [
    (["conv", "se", "dense", "gather"], "-DACTS=2"),
    (["conv", "se", "dense", "gather"], "-DACTS=2 -DWEIGHTS_FP16"),
    (["conv", "dense", "gather", "attention", "norm", "elementwise"], "-DACTS=4"),
    (["conv", "dense", "gather", "affine", "pool"], "-DACTS=3 -DWITH_FIVE=1"),
]

# The standards of a device for which no option names one: its own version of OpenCL C, or 1.2 at most.
STANDARDS = ["CL1.2", "CL1.1"]

# Kernels whose items work independently, in files in which those of other kernels work together.
ITEM_KERNELS = ["scores", "smolgen"]

# The most registers of an item on Polaris, by the kernel, or else by the family. A SIMD unit has 256 for each lane: four
# groups of 64 items share it if an item has 64 of them, three with 84, two with 128.
MOST_REGISTERS = {
    "attention": 84,
    "conv": 256,
    "dense": 128,
    "norm": 128,
    "position": 256,
    "smolgen": 128,
    "winograd": 84,
    "winograd_multiply": 128,
}
# Of all others.
FEW_REGISTERS = 64


def text_of(*families):
    return "\n".join((KERNELS / f"{family}.cl").read_text() for family in families)


def kernels_of(clang, source, options):
    """Returns the name and the arguments of each kernel of a program."""
    command = [clang, "-x", "cl", "-E", "-P", "-DVARIANT_GPU", *options.split(), "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"\bkernel\b[^;{]*?\bvoid\s+(\w+)\(([^)]*)\)\s*\{", text)
    if not found:
        sys.exit(f"{options}: expected a kernel at least, found none")
    return {name: [arg.strip() for arg in args.split(",")] for name, args in found}


def case_of(number, name, args, works_together):
    """Returns the case in which position.cl calls a kernel, as network.rs writes it."""
    given, shared = "", 0
    for at, arg in enumerate(args[:-1]):  # the last one is the batch
        if "local" in arg.split():
            given += f", (local void *)(shared + {shared})"
            shared += 64
        else:
            given += f", (global void *)(values + row[{8 + at}])" if "*" in arg else f", row[{8 + at}]"
    call = f"BY_GROUP({name}(n, g, row[ACROSS], shared{given}, batch);)"
    return f" case {number}: {call if works_together else f'BY_ITEM({name}(n, y{given}, batch);)'} break;"


def network(clang, families, options):
    """Returns the program that runs a network in one launch, as network.rs puts it together."""
    text, cases, shared = text_of("common"), "", "256"
    for family in families:
        parts = ["product", family] if family == "conv" else [family]
        for name, args in kernels_of(clang, text_of("common", *parts), f"{ALONE[family]} {options}").items():
            works_together = re.search(r"\bGROUP_KERNEL\b", text_of(family)) and name not in ITEM_KERNELS
            cases += case_of(cases.count(" case "), name, args, works_together)
        if re.search(rf"\b{family}_fours\b", text_of(family)):
            shared = f"MOST({family}_fours, {shared})"
        defines = [define.removeprefix("-D").split("=") for define in ALONE[family].split()]
        text += "".join(f"#define {name} {value}\n" for name, value in defines) + text_of(*parts)
        names = [name for name, _ in defines] + re.findall(r"^\s*#define (\w+)", text_of(*parts), re.M)
        text += "".join(f"#undef {name}\n" for name in names)
    places = {"KIND": 0, "ACROSS": 5, "ROW": 32, "ITEMS": ITEMS, "SHARED": shared, "CASES": cases}
    text += "#define MOST(a, b) ((a) > (b) ? (a) : (b))\n"
    return text + "".join(f"#define {name} {value}\n" for name, value in places.items()) + text_of("position")


def programs(clang):
    """Yields the family, the text and the options of each program."""
    for family, before, options in CASES:
        yield family, text_of("common", *before, family), options
    for families, options in NETWORKS:
        yield "position", network(clang, families, options), f"{options} -DIN_NETWORK"


def compiled(clang, standard, target, source, options):
    """Returns the assembly of a program."""
    command = [clang, "-x", "cl", f"-cl-std={standard}", "-Xclang", "-finclude-default-header", "-cl-mad-enable"]
    command += ["-DVARIANT_GPU"] + options.split() + target + ["-S", "-o", "-", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def of_amd(assembly):
    """Yields the name, instructions, registers and faults of each kernel."""
    for name, body in re.findall(r"^(\w+):\s+; @\w+\n(.*?)^; Occupancy:", assembly, re.M | re.S):
        number = lambda what: int(re.search(rf"; {what}: (\d+)", body)[1])
        wrong = [f"{number('ScratchSize')} bytes of an item in memory"] if number("ScratchSize") else []
        wrong += ["a call"] if "s_swappc" in body else []
        yield name, len(re.findall(r"^\t[a-z]\w+ ", body, re.M)), number("NumVgprs"), wrong


def of_nvidia(assembly):
    for name, body in re.findall(r"\.entry (\w+)\(.*?^\{(.*?)^\}", assembly, re.M | re.S):
        wrong = ["an array in local memory"] if re.search(r"\b(ld|st)\.local\b", body) else []
        # Calls of OpenCL's builtins are not faults: their code is not here.
        wrong += ["a call"] if re.search(r"^\s+call\S*\s.*\b(?!_Z)\w*(tile|multiply|add_)\w*", body, re.M) else []
        yield name, len(re.findall(r"^\t[@a-z].*;", body, re.M)), None, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print what each kernel takes")
    arguments = parser.parse_args()
    clang = next((clang for clang in CLANGS if shutil.which(clang)), None)
    if clang is None or not LIBCLC.exists():
        missing = "clang or libclc is not here (they come with Debian's pocl-opencl-icd and mesa-opencl-icd)"
        if os.environ.get("ONCILLA_REQUIRE_OPENCL") == "1":
            sys.exit(missing)
        print(f"skipped: {missing}")
        return
    libclc = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(LIBCLC)]
    targets = {
        "AMD": (["-O2", "-target", "amdgcn-mesa-mesa3d", "-mcpu=polaris10", *libclc], of_amd),
        "NVIDIA": (["-O3", "-target", "nvptx64-nvidia-nvcl"], of_nvidia),
    }

    def judged(task):
        """Compiles a program for a GPU and a standard, and returns the findings about its kernels."""
        (_, source, options), (_, (target, read)), standard = task
        return task, list(read(compiled(clang, standard, target, source, options)))

    bad, seen = [], 0
    # Threads suffice: they only wait for compilers.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for task, kernels in pool.map(judged, product_of(programs(clang), targets.items(), STANDARDS)):
            (family, _, options), (gpu, _), standard = task
            seen += len(kernels)
            of = f"{family}.cl as {standard} with {options}"
            if not kernels:
                bad.append(f"{gpu}, {of}: expected a kernel at least, found none")
            for name, instructions, registers, wrong in kernels:
                count = f"{instructions} instructions" + (f", {registers} registers" if registers else "")
                if arguments.list:
                    print(f"{gpu:6} {standard} {name:18} {count:38} {options}")
                most = MOST_REGISTERS.get(name, MOST_REGISTERS.get(family, FEW_REGISTERS))
                if registers and registers > most:
                    wrong.append(f"expected at most {most} registers of an item, got {registers}")
                bad += [f"{gpu}, {name} of {of}: {what}" for what in wrong]
    print("\n".join(bad) or f"{seen} kernels: all sums in registers, and no more of these than expected, everything inlined")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
