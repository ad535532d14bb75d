#!/usr/bin/env python3
"""Lists the crates that the workspace's own depend on, with their licences, in THIRD-PARTY.md.

    ci/licences.py            writes the file
    ci/licences.py --check    fails if the file is another one

Either fails if a crate has a licence that a program under MIT OR Apache-2.0 can't have in it. Dependencies of tests and
of build scripts are not part of a program, and are left out; those of every system count, and macros too.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

# Licences that ask for no more than a notice.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "NCSA",
    "Unicode-3.0", "Unlicense", "Zlib",
}
# Workspaces of their own, none of which is in the program or the libraries.
OTHERS = ["fixtures/firmware", "fuzz", "ci/gemm"]
LIST = pathlib.Path(__file__).resolve().parent.parent / "THIRD-PARTY.md"
HEAD = """# Crates of others

What the program and the libraries here are built from, on any system: `ci/licences.py` writes this file, and `ci/lint`
checks it. Every crate may be used under a licence that asks for no more than its notice. (fixtures/firmware, fuzz and
ci/gemm have dependencies of their own, in their Cargo.lock. They are checked in the same way, but not listed.)

| crate | version | licence | repository |
|---|---|---|---|
"""


def allowed(expression):
    """Whether a licence expression can be met by allowed licences alone. Old crates write `/` for OR.

    >>> good = ["MIT", "MIT/GPL-3.0", "GPL-3.0 OR (ISC AND Zlib)", "Apache-2.0 WITH LLVM-exception"]
    >>> all(map(allowed, good))
    True
    >>> bad = ["", "GPL-3.0", "MIT AND GPL-3.0", "MIT AND (GPL-3.0 OR MPL-2.0)", "MIT WITH X", "MIT Zlib"]
    >>> any(map(allowed, bad))
    False
    """
    words = re.findall(r"[()]|[^()\s]+", expression.replace("/", " OR "))
    try:
        return either(words) and not words
    except IndexError:
        return False


def either(words):
    """Takes alternatives from the words' beginning; AND binds them closer than OR."""
    good = both(words)
    while words[:1] == ["OR"]:
        words.pop(0)
        good = both(words) or good
    return good


def both(words):
    good = one(words)
    while words[:1] == ["AND"]:
        words.pop(0)
        good = one(words) and good
    return good


def one(words):
    name = words.pop(0)
    if name == "(":
        good = either(words)
        return words.pop(0) == ")" and good
    if words[:1] == ["WITH"]:
        name = " ".join([name, words.pop(0), words.pop(0)])
    return name in ALLOWED


def counts(dependency):
    """Whether it is a part of the program: of a kind without a name, and not of the tests with loom alone."""
    return any(kind["kind"] is None and kind["target"] != "cfg(loom)" for kind in dependency["dep_kinds"])


def crates(workspace):
    """The crates of others that a workspace needs, by name and version."""
    command = ["cargo", "metadata", "--all-features", "--locked", "--format-version", "1"]
    told = json.loads(subprocess.run(command, cwd=workspace, stdout=subprocess.PIPE, check=True).stdout)
    nodes = {node["id"]: node["deps"] for node in told["resolve"]["nodes"]}
    found, open_ = set(), list(told["workspace_members"])
    while open_:
        crate = open_.pop()
        if crate not in found:
            found.add(crate)
            open_ += [dependency["pkg"] for dependency in nodes[crate] if counts(dependency)]
    others = [p for p in told["packages"] if p["id"] in found and p["source"]]
    return sorted(others, key=lambda crate: (crate["name"], crate["version"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if the file is another one")
    check = parser.parse_args().check
    found = crates(LIST.parent)
    for workspace in ["", *OTHERS]:
        some = crates(LIST.parent / workspace)
        wrong = [f"{p['name']} {p['version']}: {p['license']}" for p in some if not allowed(p["license"] or "")]
        if wrong or not some:
            sys.exit(f"licences.py: {workspace or 'here'}, not allowed: {'; '.join(wrong) or 'no crates at all'}")
    rows = [f"| {p['name']} | {p['version']} | {p['license']} | {p['repository'] or ''} |\n" for p in found]
    text = HEAD + "".join(rows)
    if not check:
        LIST.write_text(text)
    elif not LIST.exists() or LIST.read_text() != text:
        sys.exit(f"licences.py: {LIST.name} is not what Cargo.lock says: ci/licences.py")


if __name__ == "__main__":
    main()
