"""Runs a UCI engine as a child process, for the scripts here."""

import os
import select
import subprocess
import sys
import time

# The time for an answer, unless the caller sets another one, and for the end after `quit`. The scripts look for engines
# that never answer.
ANSWER_S = 120.0
END_S = 10.0


class Engine:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.said = b""

    def fail(self, why):
        """Ends the engine and the script with an error."""
        self.process.kill()
        sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")

    def say(self, line):
        try:
            self.process.stdin.write(f"{line}\n".encode())
        except BrokenPipeError:
            self.fail(f"the engine ended before {line}")

    def line(self, word, deadline):
        """Returns the next line; `word` is the answer that is awaited, for the error message."""
        while b"\n" not in self.said:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.fail(f"no {word} in time")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                self.fail(f"the engine ended without {word}")
            self.said += part
        line, _, self.said = self.said.partition(b"\n")
        return line.decode() + "\n"

    def lines_until(self, word, seconds=ANSWER_S):
        """Returns the lines before the one that begins with `word`."""
        lines, deadline = [], time.monotonic() + seconds
        while not (line := self.line(word, deadline)).startswith(word):
            lines.append(line)
        return lines

    def quit(self):
        """Sends `quit` and checks that the engine exits without an error."""
        self.say("quit")
        self.ends("quit")

    def ends(self, told):
        """Checks that the engine exits without an error, as it was told to."""
        try:
            status = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.fail(f"still running {END_S:.0f} s after {told}")
        if status != 0:
            self.fail(f"exit status {status} after {told}")
