"""Reads sections and symbols of little-endian 32-bit ELF files, as far as the scripts here need them."""
import collections
import struct

Section = collections.namedtuple("Section", "name kind flags address offset size link")
WRITE, ALLOC, EXECUTE = 1, 2, 4
SYMBOLS, NO_BITS = 2, 8


class Elf:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        offset, = struct.unpack_from("<I", self.data, 32)
        each, count, names = struct.unpack_from("<HHH", self.data, 46)
        heads = [struct.unpack_from("<10I", self.data, offset + i * each) for i in range(count)]
        self.sections = [Section(self.text(heads[names][4], h[0]), h[1], h[2], h[3], h[4], h[5], h[6]) for h in heads]

    def text(self, strings, at):
        return self.data[strings + at:self.data.index(b"\0", strings + at)].decode()

    def symbols(self, of):
        """Yields (name, value) of the symbols in the section of that name."""
        wanted = [i for i, section in enumerate(self.sections) if section.name == of]
        for table in (s for s in self.sections if s.kind == SYMBOLS):
            strings = self.sections[table.link].offset
            for at in range(table.offset, table.offset + table.size, 16):
                name, value, _, _, _, section = struct.unpack_from("<IIIBBH", self.data, at)
                if section in wanted:
                    yield self.text(strings, name), value
