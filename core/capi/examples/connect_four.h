/* The rules of Connect Four, and what a position looks like to someone who can only count: for the examples. */
#ifndef CONNECT_FOUR_H
#define CONNECT_FOUR_H

#include <stdint.h>
#include <stdlib.h>

enum { COLUMNS = 7, ROWS = 6, COLUMN_BITS = ROWS + 1, CELLS = COLUMNS * ROWS };

/* The stones of the side to move and of the other one, a bit each, column by column from the left and up. A column has
 * one bit more than squares, so that no line goes on from the top of one to the foot of the next. */
typedef struct Board {
    uint64_t own, other;
} Board;

/* Drops a stone into a column, which is what a move says. */
static inline Board board_play(Board board, uint16_t column) {
    uint64_t foot = (uint64_t)1 << (column * COLUMN_BITS);
    uint64_t squares = (((uint64_t)1 << ROWS) - 1) * foot;
    /* One more than what fills a column's lower squares is the next one above them. */
    uint64_t stone = ((board.own | board.other) & squares) + foot;
    Board after = {board.other, board.own | stone};
    return after;
}

/* The columns that are not full, from the middle outwards; gives back how many. */
static inline size_t board_moves(Board board, uint16_t moves[COLUMNS]) {
    static const uint16_t order[COLUMNS] = {3, 2, 4, 1, 5, 0, 6};
    size_t count = 0;
    for (int i = 0; i < COLUMNS; i++) {
        uint64_t top = (uint64_t)1 << (order[i] * COLUMN_BITS + ROWS - 1);
        if (((board.own | board.other) & top) == 0) moves[count++] = order[i];
    }
    return count;
}

/* Whether the side that has just moved has four in a line. */
static inline int board_is_lost(Board board) {
    static const int steps[4] = {1, COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1};
    for (int i = 0; i < 4; i++) {
        uint64_t pairs = board.other & board.other >> steps[i];
        if (pairs & pairs >> (2 * steps[i])) return 1;
    }
    return 0;
}

static inline int board_weight(uint64_t stones) {
    int sum = 0;
    for (int column = 0; column < COLUMNS; column++)
        for (int row = 0; row < ROWS; row++)
            if (stones >> (column * COLUMN_BITS + row) & 1) sum += 3 - abs(column - 3);
    return sum;
}

/* Who has more stones near the middle, which are part of more lines: from the side to move, in [-1, 1]. */
static inline float board_estimate(Board board) {
    return (float)(board_weight(board.own) - board_weight(board.other)) / 40.0f;
}

/* Two positions have the same key only if they are the same: the side to move's stones, and a mark above each column. */
static inline uint64_t board_key(Board board) {
    uint64_t feet = 0;
    for (int column = 0; column < COLUMNS; column++) feet |= (uint64_t)1 << (column * COLUMN_BITS);
    return board.own + (board.own | board.other) + feet;
}

#endif
