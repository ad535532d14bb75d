/* Connect Four in a tree whose memory is static, kept from move to move: plays a game against itself and prints each
 * position. It is core/examples/connect_four/main.rs once more, and plays the same game. An argument is the number of playouts
 * for each move.
 *
 *     core/capi/install ~/.local
 *     cc connect_four.c $(PKG_CONFIG_PATH=~/.local/lib/pkgconfig pkg-config --cflags --libs oncilla) && ./a.out
 */
#include <oncilla.h>
#include <stdio.h>

#include "connect_four.h"

/* Words for edges: 4 for the priors of seven columns, 8 and 5 for each visited child. */
enum { NODES = 4000, WORDS = 60000 };

/* All of the search's memory, known to the linker. The unions are there for the alignment. */
static union {
    uint64_t aligned;
    unsigned char bytes[ONCILLA_SEARCH_BYTES(NODES, WORDS)];
} search_memory;
static union {
    uint64_t aligned;
    unsigned char bytes[ONCILLA_EVENT_BYTES(ONCILLA_DEFAULT_PLIES)];
} event_memory;

/* Ends the program unless a call did what it should. */
static void must(OncillaStatus status) {
    if (status != ONCILLA_OK) {
        fprintf(stderr, "connect_four: %s\n", oncilla_status_text(status));
        exit(1);
    }
}

/* Says what the leaf of an event is worth. */
static void answer(const OncillaSearch *search, OncillaEvent *event, Board board) {
    uint16_t line[CELLS], moves[COLUMNS];
    size_t plies, count;
    must(oncilla_event_moves(event, line, CELLS, &plies));
    for (size_t i = 0; i < plies; i++) board = board_play(board, line[i]);

    /* The tree knows a new move by its place among the legal ones. */
    int32_t unnamed;
    must(oncilla_event_unnamed(event, &unnamed));
    if (unnamed >= 0) {
        board_moves(board, moves);
        must(oncilla_event_name(event, moves[unnamed]));
        board = board_play(board, moves[unnamed]);
    }

    OncillaAnswer answer = {0};
    float policy[COLUMNS];
    count = board_moves(board, moves);
    /* The middle is looked at first. */
    for (size_t i = 0; i < count; i++) policy[i] = -0.3f * (float)abs(moves[i] - 3);
    if (board_is_lost(board)) {
        answer.verdict = ONCILLA_ENDED;
        answer.wl = -1;
    } else if (count == 0) {
        answer.verdict = ONCILLA_ENDED;
        answer.d = 1;
    } else {
        answer.wl = board_estimate(board);
    }
    must(oncilla_answer(search, event, &answer, policy, count));
}

/* The move after so many playouts, or -1 if the game has ended. */
static int best_move(OncillaSearch *search, OncillaEvent *event, Board board, int playouts) {
    must(oncilla_start_move(search));
    while (playouts > 0) {
        OncillaMet met;
        must(oncilla_gather(search, &event, 1));
        must(oncilla_event_met(event, &met));
        switch (met) {
        case ONCILLA_LEAF:
            answer(search, event, board);
            playouts--;
            break;
        case ONCILLA_KNOWN:
            must(oncilla_bring_back(search, &event, 1));
            playouts--;
            break;
        case ONCILLA_FULL: {
            size_t freed;
            must(oncilla_recycle(search, &freed));
            if (freed == 0) {
                fprintf(stderr, "connect_four: the tree is full, and nothing can be folded\n");
                exit(1);
            }
            break;
        }
        case ONCILLA_COLLISION:
            must(oncilla_cancel(search, event));
            break;
        case ONCILLA_NO_MOVES:
            return -1;
        }
    }
    uint16_t column;
    must(oncilla_best_move(search, &column));
    return column;
}

static void print(Board board) {
    for (int row = ROWS - 1; row >= 0; row--) {
        for (int column = 0; column < COLUMNS; column++) {
            uint64_t square = (uint64_t)1 << (column * COLUMN_BITS + row);
            printf(" %c", board.own & square ? 'o' : board.other & square ? 'x' : '.');
        }
        printf("\n");
    }
    printf("\n");
}

int main(int argc, char **argv) {
    int playouts = argc > 1 ? atoi(argv[1]) : 5000;
    OncillaCapacity capacity = {NODES, WORDS, 0};
    OncillaSearch *search;
    OncillaEvent *event;
    must(oncilla_search_new(search_memory.bytes, sizeof search_memory.bytes, &capacity, NULL, &search));
    must(oncilla_event_new(event_memory.bytes, sizeof event_memory.bytes, &event));

    Board board = {0, 0};
    for (int column; (column = best_move(search, event, board, playouts)) >= 0;) {
        uint16_t mv = (uint16_t)column;
        board = board_play(board, mv);
        must(oncilla_advance(search, &mv, 1, NULL));
        printf("column %d\n", column + 1);
        print(board);
    }
    return 0;
}
