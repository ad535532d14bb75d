"""A UCI engine in a process of its own, as the scripts here talk to it."""

import subprocess


class Engine:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def lines_until(self, word):
        """The lines before the one that begins with this word."""
        lines = []
        for line in self.process.stdout:
            if line.startswith(word):
                return lines
            lines.append(line)
        raise EOFError(f"the engine ended without {word}")
