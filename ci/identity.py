"""What programs and files held that a measurement or a match used, for the scripts that go on with one."""

import hashlib
import os
import shlex
import shutil


def held(path):
    """A short hash of a file."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()[:16]


def files(command, options=()):
    """Returns a short hash of every program and file that a command or its options name, by that name. The engine need
    not be the first word: `taskset` or an emulator may start it."""
    words = shlex.split(command)
    named = [part for word in [*words[1:], *options] for part in (word, word.partition("=")[2])]
    found = {name: shutil.which(name) for name in words if not name.startswith("-")}
    found |= {name: name for name in named if os.path.isfile(name)}
    return {name: held(path) for name, path in found.items() if path}
