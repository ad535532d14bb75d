#!/usr/bin/env python3
"""What compilers for real GPUs make of the kernels, without one: clang for AMD's GCN (Polaris) with libclc, and for NVIDIA's PTX.

Sums that a compiler can't keep in registers go to memory at each step, which makes a convolution several times slower; so does a function that is called and
not inlined. Neither may be in the kernels. With --list it prints instructions and registers of each kernel.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "opencl/src/kernels"
CLANGS = ["clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang-14"]
LIBCLC = Path("/usr/lib/clc/polaris10-amdgcn-mesa-mesa3d.bc")
BOARD = "-DRANKS=8 -DFILES=8"
WITHIN = "-DWITHIN_WINOGRAD -DSQUARES=64 "


def product(rows, channels, depth, columns=8):
    return f"-DLX={columns} -DLY=8 -DITEM_ROWS={rows} -DITEM_CHANNELS={channels} -DDEPTH={depth}"


# A family, the texts before its own, and options as launchers give them. Activations: relu, and mish for attention bodies.
CASES = [
    # What is in eight bits has at most 16 steps at a time.
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


def compiled(clang, target, source, options, folder):
    """The assembly of a program."""
    text = folder / "program.cl"
    text.write_text(source)
    out = folder / "program.s"
    command = [clang, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-cl-mad-enable", "-DVARIANT_GPU"]
    command += options.split() + target + ["-S", "-o", str(out), str(text)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return out.read_text()


def of_amd(assembly):
    """For each kernel its instructions, registers, and what is wrong with it."""
    for name, body in re.findall(r"^(\w+):\s+; @\w+\n(.*?)^; Occupancy:", assembly, re.M | re.S):
        number = lambda what: int(re.search(rf"; {what}: (\d+)", body)[1])
        wrong = [f"{number('ScratchSize')} bytes of an item in memory"] if number("ScratchSize") else []
        wrong += ["a call"] if "s_swappc" in body else []
        yield name, len(re.findall(r"^\t[a-z]\w+ ", body, re.M)), number("NumVgprs"), wrong


def of_nvidia(assembly):
    for name, body in re.findall(r"\.entry (\w+)\(.*?^\{(.*?)^\}", assembly, re.M | re.S):
        wrong = ["an array in local memory"] if re.search(r"\b(ld|st)\.local\b", body) else []
        # Builtins of OpenCL have no text here.
        wrong += ["a call"] if re.search(r"^\s+call\S*\s.*\b(?!_Z)\w*(tile|multiply|add_)\w*", body, re.M) else []
        yield name, len(re.findall(r"^\t[@a-z].*;", body, re.M)), None, wrong


def main():
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
    bad, seen = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for family, before, options in CASES:
            source = "\n".join((KERNELS / f"{part}.cl").read_text() for part in ["common", *before, family])
            for gpu, (target, read) in targets.items():
                kernels = list(read(compiled(clang, target, source, options, Path(folder))))
                seen += len(kernels)
                if not kernels:
                    bad.append(f"{gpu}, {family}.cl with {options}: expected a kernel at least, found none")
                for name, instructions, registers, wrong in kernels:
                    count = f"{instructions} instructions" + (f", {registers} registers" if registers else "")
                    if "--list" in sys.argv[1:]:
                        print(f"{gpu:6} {name:18} {count:38} {options}")
                    bad += [f"{gpu}, {name} of {family}.cl with {options}: {what}" for what in wrong]
    print("\n".join(bad) or f"{seen} kernels: all sums in registers, everything inlined")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
