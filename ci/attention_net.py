#!/usr/bin/env python3
"""Writes a network with an attention body and random weights, for measurements with a size that is used in games.

    ci/attention_net.py FILE.pb.gz

It has an embedding with a position map, or with a dense layer (--dense), encoders with smolgen, an attention policy, WDL and moves left. The published
networks of this architecture have the default sizes or larger ones; for measurements of speed only the shapes matter.
"""

import argparse
import gzip
import math
import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fixtures" / "train"))
from wire import message, number

SQUARES, PLANES, PIECES, MOVES_PLANES = 64, 112, 12, 64
LINEAR16, INPUT_CLASSICAL, OUTPUT_WDL, ATTENTION_BODY, POLICY_ATTENTION, VALUE_WDL, MOVES_LEFT_V1 = 1, 1, 2, 6, 3, 2, 1
MISH, SWISH, RELU2, PE_MAP, PE_DENSE = 1, 7, 8, 1, 2


class Weights:
    """Makes layers of random numbers, scaled so that a sum over `inputs` is of order 1."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def layer(self, field, count, inputs):
        most = math.sqrt(3 / inputs)
        limits = struct.pack("<BfBf", 1 << 3 | 5, -most, 2 << 3 | 5, most)
        return message(field, limits, message(3, self.random.randbytes(2 * count)))

    def dense(self, field, outputs, inputs):
        """The weights, with their biases in the next field."""
        return self.layer(field, outputs * inputs, inputs) + self.layer(field + 1, outputs, 100)

    def norm(self, field, channels):
        """Gammas around 1, with the betas in the next field."""
        gammas = struct.pack("<BfBf", 1 << 3 | 5, 0.9, 2 << 3 | 5, 1.1)
        return message(field, gammas, message(3, self.random.randbytes(2 * channels))) + self.layer(field + 1, channels, 100)

    def encoder(self, a):
        compressed, generated = 32, 256
        smolgen = [
            self.layer(1, compressed * a.embedding, a.embedding),
            self.dense(2, a.smolgen, compressed * SQUARES),
            self.norm(4, a.smolgen),
            self.dense(6, a.heads * generated, a.smolgen),
            self.norm(8, a.heads * generated),
        ]
        attention = [self.dense(field, a.embedding, a.embedding) for field in (1, 3, 5, 7)] + [message(9, *smolgen)]
        feed_forward = self.feed_forward(a)
        return [
            message(1, *attention),
            self.norm(2, a.embedding),
            message(4, *feed_forward),
            self.norm(5, a.embedding),
        ]

    def feed_forward(self, a):
        return [self.dense(1, a.hidden, a.embedding), self.dense(3, a.embedding, a.hidden)]

    def input(self, a):
        """What a square is embedded from: its planes, and a map of moves or its part of a dense layer of all pieces."""
        if not a.dense:
            return [self.dense(25, a.embedding, PLANES + MOVES_PLANES)]
        return [
            self.dense(25, a.embedding, PLANES + a.dense),
            self.dense(37, SQUARES * a.dense, SQUARES * PIECES),
            self.norm(39, a.embedding),
            message(41, *self.feed_forward(a)),
            self.norm(42, a.embedding),
        ]


def network(a):
    weights = Weights(a.seed)
    body = [
        *weights.input(a),
        *[message(27, *weights.encoder(a)) for _ in range(a.layers)],
        number(28, a.heads),
        weights.layer(33, SQUARES * a.embedding, 3),
        weights.layer(34, SQUARES * a.embedding, 100),
        weights.layer(35, SQUARES * SQUARES * 256, 256),
        # Policy: embedding, queries, keys, promotions.
        weights.dense(4, a.embedding, a.embedding),
        weights.dense(17, a.embedding, a.embedding),
        weights.dense(19, a.embedding, a.embedding),
        weights.layer(22, 4 * a.embedding, a.embedding),
        # Value and moves left: embedding, hidden, end.
        weights.dense(29, 32, a.embedding),
        weights.dense(7, 128, 32 * SQUARES),
        weights.dense(9, 3, 128),
        weights.dense(31, 8, a.embedding),
        weights.dense(13, 128, 8 * SQUARES),
        weights.dense(15, 1, 128),
    ]
    kinds = [INPUT_CLASSICAL, OUTPUT_WDL, ATTENTION_BODY, POLICY_ATTENTION, VALUE_WDL, MOVES_LEFT_V1, MISH, SWISH, RELU2]
    kinds.append(PE_DENSE if a.dense else PE_MAP)
    kinds = b"".join(number(field, kind) for field, kind in enumerate(kinds, 1))
    magic = struct.pack("<BI", 1 << 3 | 5, 0x1C0)
    return magic + message(3, number(2, 30)) + message(4, number(1, LINEAR16), message(2, kinds)) + message(10, *body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedding", type=int, default=256, help="channels of a square (256)")
    parser.add_argument("--heads", type=int, default=8, help="heads of an attention (8)")
    parser.add_argument("--layers", type=int, default=10, help="encoders (10)")
    parser.add_argument("--hidden", type=int, default=256, help="channels inside a feed-forward layer (256)")
    parser.add_argument("--smolgen", type=int, default=256, help="channels inside a smolgen (256)")
    parser.add_argument("--dense", type=int, default=0, help="channels that a dense embedding makes of a square (0: none)")
    parser.add_argument("--seed", type=int, default=1, help="where the weights come from (1)")
    parser.add_argument("file", help="where to write it")
    arguments = parser.parse_args()
    with gzip.open(arguments.file, "wb", compresslevel=1) as file:
        file.write(network(arguments))


if __name__ == "__main__":
    main()
