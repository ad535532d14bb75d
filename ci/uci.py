"""A UCI engine in a process of its own, as the scripts here talk to it."""

import os
import select
import subprocess
import sys
import time

# How long an answer may take, unless the caller says otherwise, and the end after `quit`: one that never comes is what is looked for.
ANSWER_S = 120.0
END_S = 10.0


class Engine:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.said = b""

    def fail(self, why):
        """Ends the script, and the engine with it."""
        self.process.kill()
        sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")

    def say(self, line):
        try:
            self.process.stdin.write(f"{line}\n".encode())
        except BrokenPipeError:
            self.fail(f"the engine ended before {line}")

    def line(self, word, deadline):
        """The next line, while `word` is waited for."""
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
        """The lines before the one that begins with this word."""
        lines, deadline = [], time.monotonic() + seconds
        while not (line := self.line(word, deadline)).startswith(word):
            lines.append(line)
        return lines

    def quit(self):
        """Says so, and waits for the engine to end well."""
        self.say("quit")
        try:
            status = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.fail(f"still running {END_S:.0f} s after quit")
        if status != 0:
            self.fail(f"exit status {status} after quit")
