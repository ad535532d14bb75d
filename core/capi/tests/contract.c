/* What the header promises, from the side of a C host: every status that a misuse can be answered by, and what a search, a
 * time manager and an estimator do. Exits with 1 and says where if something is not as promised. */
#include <oncilla.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../examples/connect_four.h"

static int checks, failures;

static void check(int holds, const char *what, int line) {
    checks++;
    if (holds) return;
    failures++;
    printf("contract.c:%d: not so: %s\n", line, what);
}

static void check_status(OncillaStatus got, OncillaStatus expected, const char *what, int line) {
    checks++;
    if (got == expected) return;
    failures++;
    printf("contract.c:%d: %s: expected \"%s\", got \"%s\"\n", line, what, oncilla_status_text(expected),
           oncilla_status_text(got));
}

#define CHECK(holds) check((holds) != 0, #holds, __LINE__)
#define EXPECT(status, call) check_status((call), (status), #call, __LINE__)
#define OK(call) EXPECT(ONCILLA_OK, call)

enum { NODES = 2000, WORDS = 30000, BATCH = 4 };

/* A search with its events, each in memory of exactly the size asked for, so that a memory checker sees a byte too far. */
typedef struct Fixture {
    void *memory, *event_memory[BATCH];
    OncillaSearch *search;
    OncillaEvent *events[BATCH];
} Fixture;

static Fixture make(OncillaCapacity capacity, const OncillaParams *params) {
    Fixture fixture;
    size_t bytes = 0;
    OK(oncilla_search_size(&capacity, &bytes));
    fixture.memory = malloc(bytes);
    memset(fixture.memory, 0xa5, bytes);
    OK(oncilla_search_new(fixture.memory, bytes, &capacity, params, &fixture.search));
    for (int i = 0; i < BATCH; i++) {
        fixture.event_memory[i] = malloc(oncilla_event_size());
        OK(oncilla_event_new(fixture.event_memory[i], oncilla_event_size(), &fixture.events[i]));
    }
    return fixture;
}

static void unmake(Fixture *fixture) {
    OK(oncilla_search_end(fixture->search));
    free(fixture->memory);
    for (int i = 0; i < BATCH; i++) free(fixture->event_memory[i]);
}

/* The position of an event's leaf, whose last move gets its name. */
static Board leaf_of(OncillaEvent *event, Board board) {
    uint16_t line[CELLS], moves[COLUMNS];
    size_t plies = 0;
    int32_t unnamed = -1;
    OK(oncilla_event_moves(event, line, CELLS, &plies));
    for (size_t i = 0; i < plies; i++) board = board_play(board, line[i]);
    OK(oncilla_event_unnamed(event, &unnamed));
    if (unnamed >= 0) {
        CHECK((size_t)unnamed < board_moves(board, moves));
        OK(oncilla_event_name(event, moves[unnamed]));
        board = board_play(board, moves[unnamed]);
    }
    return board;
}

static OncillaAnswer answer_of(Board board, float *policy, size_t *count) {
    uint16_t moves[COLUMNS];
    OncillaAnswer answer = {0};
    *count = board_moves(board, moves);
    for (size_t i = 0; i < *count; i++) policy[i] = 0;
    answer.key = board_key(board);
    answer.wl = board_estimate(board);
    if (board_is_lost(board)) {
        answer.verdict = ONCILLA_ENDED;
        answer.wl = -1;
        *count = 0;
    } else if (*count == 0) {
        answer.verdict = ONCILLA_ENDED;
        answer.d = 1;
        answer.wl = 0;
    }
    return answer;
}

/* Batches of playouts, until the root has so many visits. */
static void search_until(Fixture *fixture, Board board, uint32_t visits) {
    OncillaStats stats;
    for (OK(oncilla_stats(fixture->search, &stats)); stats.visits < visits && !failures;
         OK(oncilla_stats(fixture->search, &stats))) {
        int full = 0;
        OK(oncilla_gather(fixture->search, fixture->events, BATCH));
        for (int i = 0; i < BATCH; i++) {
            OncillaMet met;
            OK(oncilla_event_met(fixture->events[i], &met));
            full |= met == ONCILLA_FULL;
            if (met == ONCILLA_NO_MOVES) return;
            if (met != ONCILLA_LEAF) continue;
            float policy[COLUMNS];
            size_t count;
            OncillaAnswer answer = answer_of(leaf_of(fixture->events[i], board), policy, &count);
            OK(oncilla_settle(fixture->search, fixture->events[i], &answer, policy, count));
        }
        OK(oncilla_bring_back(fixture->search, fixture->events, BATCH));
        for (int i = 0; i < BATCH; i++) OK(oncilla_cancel(fixture->search, fixture->events[i]));
        if (full) {
            size_t freed = 0;
            OK(oncilla_recycle(fixture->search, &freed));
            CHECK(freed > 0);
        }
    }
}

/* A host that asks a graph before it evaluates gets the same tree as one that answers every leaf. In a tree nothing is
 * joined. */
static void transpositions(void) {
    Board start = {0, 0};
    for (uint32_t graph = 0; graph < 2; graph++) {
        OncillaCapacity capacity = {NODES, WORDS, graph};
        Fixture asking = make(capacity, NULL), answering = make(capacity, NULL);
        int met_again = 0;
        for (int playout = 0; playout < 600; playout++) {
            Fixture *both[2] = {&asking, &answering};
            for (int i = 0; i < 2; i++) {
                OncillaSearch *search = both[i]->search;
                OncillaEvent *event = both[i]->events[0];
                OncillaMet met;
                uint32_t joined = 0;
                float policy[COLUMNS];
                size_t count;
                OK(oncilla_gather(search, &event, 1));
                OK(oncilla_event_met(event, &met));
                if (met == ONCILLA_LEAF) {
                    OncillaAnswer answer = answer_of(leaf_of(event, start), policy, &count);
                    if (i == 0 && answer.verdict == ONCILLA_POSITION) {
                        OK(oncilla_settle_transposition(search, event, answer.key, count, &joined));
                    }
                    met_again += joined != 0;
                    if (!joined) OK(oncilla_settle(search, event, &answer, policy, count));
                }
                OK(oncilla_bring_back(search, &event, 1));
            }
        }
        CHECK(graph ? met_again > 10 : met_again == 0);
        OncillaStats one, other;
        OK(oncilla_stats(asking.search, &one));
        OK(oncilla_stats(answering.search, &other));
        CHECK(one.visits == 600 && memcmp(&one, &other, sizeof one) == 0);

        /* The event waits for an answer, or for its name, or for nothing. */
        OncillaEvent *event = asking.events[0];
        uint32_t joined = 7;
        EXPECT(ONCILLA_STALE, oncilla_settle_transposition(asking.search, event, 1, 1, &joined));
        OK(oncilla_clear(asking.search));
        OK(oncilla_gather(asking.search, &event, 1));
        EXPECT(ONCILLA_NULL_POINTER, oncilla_settle_transposition(asking.search, event, 1, 1, NULL));
        EXPECT(ONCILLA_OTHER_SEARCH, oncilla_settle_transposition(answering.search, event, 1, 1, &joined));
        CHECK(joined == 7);
        OK(oncilla_settle_transposition(asking.search, event, 1, 1, &joined));
        CHECK(joined == 0);
        OK(oncilla_answer(asking.search, event, &(OncillaAnswer){0}, (float[2]){0}, 2));
        OK(oncilla_gather(asking.search, &event, 1));
        EXPECT(ONCILLA_UNNAMED, oncilla_settle_transposition(asking.search, event, 1, 1, &joined));
        EXPECT(ONCILLA_STALE, oncilla_settle_transposition(asking.search, event, 1, 1, &joined));
        unmake(&asking);
        unmake(&answering);
    }
}

static void texts(void) {
    CHECK(oncilla_abi() == ONCILLA_ABI);
    CHECK(strcmp(oncilla_status_text(ONCILLA_OK), "it did what it should") == 0);
    const char *unknown = oncilla_status_text(-1);
    for (int status = ONCILLA_OK; status <= ONCILLA_IN_FLIGHT; status++) {
        CHECK(strcmp(oncilla_status_text(status), unknown) != 0);
    }
    CHECK(strcmp(oncilla_status_text(ONCILLA_IN_FLIGHT + 1), unknown) == 0);
}

static void memory_of_a_search(void) {
    OncillaCapacity capacity = {NODES, WORDS, 0}, none = {0, WORDS, 0}, least = {1, 0, 0};
    OncillaSearch *search = NULL;
    size_t bytes = 0;
    EXPECT(ONCILLA_NULL_POINTER, oncilla_search_size(NULL, &bytes));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_search_size(&capacity, NULL));
    EXPECT(ONCILLA_BAD_COUNT, oncilla_search_size(&none, &bytes));
    CHECK(bytes == 0);
    OK(oncilla_search_size(&capacity, &bytes));
    CHECK(bytes > 20u * NODES + 4u * WORDS && bytes <= ONCILLA_SEARCH_BYTES(NODES, WORDS));

    size_t unused = 0;
    OncillaCapacity most = {.nodes = (1u << 29) - 1, .edge_words = (1u << 30) - 1};
    EXPECT(sizeof(size_t) > 4 ? ONCILLA_OK : ONCILLA_BAD_COUNT, oncilla_search_size(&most, &unused));
    most.nodes += 1;
    EXPECT(ONCILLA_BAD_COUNT, oncilla_search_size(&most, &unused));
    OncillaCapacity too_many_words = {.nodes = 1, .edge_words = 1u << 30};
    EXPECT(ONCILLA_BAD_COUNT, oncilla_search_size(&too_many_words, &unused));

    char *memory = malloc(bytes + ONCILLA_ALIGN);
    EXPECT(ONCILLA_NULL_POINTER, oncilla_search_new(NULL, bytes, &capacity, NULL, &search));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_search_new(memory, bytes, NULL, NULL, &search));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_search_new(memory, bytes, &capacity, NULL, NULL));
    EXPECT(ONCILLA_BAD_COUNT, oncilla_search_new(memory, bytes, &none, NULL, &search));
    EXPECT(ONCILLA_MEMORY_TOO_SMALL, oncilla_search_new(memory, bytes - 1, &capacity, NULL, &search));
    EXPECT(ONCILLA_MEMORY_TOO_SMALL, oncilla_search_new(memory, 0, &capacity, NULL, &search));
    EXPECT(ONCILLA_MISALIGNED, oncilla_search_new(memory + 1, bytes, &capacity, NULL, &search));
    EXPECT(ONCILLA_MISALIGNED, oncilla_search_new(memory + 4, bytes, &capacity, NULL, &search));
    CHECK(search == NULL);
    /* At the start and in the middle of lent memory. */
    for (int offset = 0; offset <= ONCILLA_ALIGN; offset += ONCILLA_ALIGN) {
        OK(oncilla_search_new(memory + offset, bytes, &capacity, NULL, &search));
        CHECK((char *)search >= memory + offset);
    }
    free(memory);

    /* A tree with no room for its root's edges says so, and nothing else happens. */
    Fixture tiny = make(least, NULL);
    float policy[COLUMNS] = {0};
    OncillaAnswer answer = {0};
    OK(oncilla_gather(tiny.search, tiny.events, 1));
    EXPECT(ONCILLA_NO_ROOM, oncilla_answer(tiny.search, tiny.events[0], &answer, policy, COLUMNS));
    unmake(&tiny);
}

static void handles(void) {
    OncillaCapacity capacity = {NODES, WORDS, 0};
    Fixture it = make(capacity, NULL);
    uint16_t mv = 0, line[4];
    size_t count = 0;
    OncillaStats stats;
    /* An event is no search, and zeroes are neither. */
    uint64_t zeroes[512] = {0};
    EXPECT(ONCILLA_NOT_A_HANDLE, oncilla_clear((OncillaSearch *)it.events[0]));
    EXPECT(ONCILLA_NOT_A_HANDLE, oncilla_cancel(it.search, (OncillaEvent *)it.search));
    EXPECT(ONCILLA_NOT_A_HANDLE, oncilla_stats((OncillaSearch *)zeroes, &stats));
    EXPECT(ONCILLA_NOT_A_HANDLE, oncilla_time_end((OncillaTime *)zeroes, 1, 1));
    EXPECT(ONCILLA_MISALIGNED, oncilla_stats((OncillaSearch *)((char *)zeroes + 1), &stats));
    EXPECT(ONCILLA_MISALIGNED, oncilla_stats(it.search, (OncillaStats *)((char *)zeroes + 1)));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_clear(NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_start_move(NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_stats(NULL, &stats));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_stats(it.search, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_best_move(NULL, &mv));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_best_move(it.search, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_move_to_play(it.search, 0, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_edge_to_play(it.search, 0, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_pv(it.search, NULL, 4, &count));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_pv(it.search, line, 4, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_root_edges(it.search, NULL, 1, &count));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_advance(it.search, NULL, 1, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_recycle(NULL, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_set_params(NULL, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_set_remaining_playouts(NULL, 1));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_set_root_moves(it.search, &mv, NULL, 1));
    EXPECT(ONCILLA_BAD_COUNT, oncilla_advance(it.search, &mv, SIZE_MAX, NULL));
    EXPECT(ONCILLA_NO_MOVE, oncilla_best_move(it.search, &mv));
    EXPECT(ONCILLA_NO_MOVE, oncilla_move_to_play(it.search, 0, &mv));
    OncillaRootEdge edge;
    EXPECT(ONCILLA_NO_MOVE, oncilla_edge_to_play(it.search, 0, &edge));
    OK(oncilla_pv(it.search, line, 4, &count));
    CHECK(count == 0);

    uint16_t moves[400] = {0};
    EXPECT(ONCILLA_BAD_COUNT, oncilla_set_root_moves(it.search, moves, moves, 363));
    OK(oncilla_set_root_moves(it.search, moves, moves, 362));
    OK(oncilla_set_root_moves(it.search, NULL, NULL, 0));

    OK(oncilla_search_end(it.search));
    EXPECT(ONCILLA_NOT_A_HANDLE, oncilla_stats(it.search, &stats));
    EXPECT(ONCILLA_NOT_A_HANDLE, oncilla_search_end(it.search));
    size_t bytes = 0;
    OK(oncilla_search_size(&capacity, &bytes));
    OK(oncilla_search_new(it.memory, bytes, &capacity, NULL, &it.search));
    unmake(&it);
}

static void events(void) {
    OncillaCapacity capacity = {NODES, WORDS, 0};
    Fixture it = make(capacity, NULL), other = make(capacity, NULL);
    Board start = {0, 0};
    OncillaMet met;
    OncillaAnswer answer = {0};
    OncillaEvent *event = it.events[0];
    uint16_t line[CELLS];
    float policy[1100] = {0};
    size_t count = 0, bytes = oncilla_event_size();
    int32_t index;

    CHECK(bytes <= ONCILLA_EVENT_BYTES(oncilla_max_plies()));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_event_new(NULL, bytes, &event));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_event_new(it.event_memory[0], bytes, NULL));
    EXPECT(ONCILLA_MEMORY_TOO_SMALL, oncilla_event_new(it.event_memory[0], bytes - 1, &event));
    EXPECT(ONCILLA_MISALIGNED, oncilla_event_new((char *)it.event_memory[0] + 2, bytes, &event));

    /* Before it was gathered. */
    EXPECT(ONCILLA_STALE, oncilla_event_met(event, &met));
    EXPECT(ONCILLA_STALE, oncilla_settle(it.search, event, &answer, policy, 7));
    OK(oncilla_cancel(it.search, event));
    OK(oncilla_bring_back(it.search, it.events, 1));

    /* Arrays of events. */
    OncillaEvent *twice[3] = {it.events[0], it.events[1], it.events[0]}, *hole[2] = {it.events[0], NULL};
    EXPECT(ONCILLA_SAME_EVENT, oncilla_gather(it.search, twice, 3));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_gather(it.search, hole, 2));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_gather(it.search, NULL, 2));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_gather(NULL, it.events, 1));
    EXPECT(ONCILLA_BAD_COUNT, oncilla_gather(it.search, it.events, SIZE_MAX));
    EXPECT(ONCILLA_STALE, oncilla_event_met(event, &met));
    OK(oncilla_gather(it.search, NULL, 0));

    /* The root is a leaf for the first one; the second collides with it. */
    OK(oncilla_gather(it.search, it.events, 2));
    OK(oncilla_event_met(it.events[0], &met));
    CHECK(met == ONCILLA_LEAF);
    OK(oncilla_event_met(it.events[1], &met));
    CHECK(met == ONCILLA_COLLISION);
    EXPECT(ONCILLA_IN_FLIGHT, oncilla_gather(it.search, it.events, 2));
    EXPECT(ONCILLA_OTHER_SEARCH, oncilla_gather(other.search, it.events, 1));
    EXPECT(ONCILLA_OTHER_SEARCH, oncilla_answer(other.search, event, &answer, policy, 7));
    EXPECT(ONCILLA_OTHER_SEARCH, oncilla_bring_back(other.search, it.events, 1));
    EXPECT(ONCILLA_OTHER_SEARCH, oncilla_cancel(other.search, event));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_settle(it.search, event, NULL, policy, 7));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_settle(it.search, event, &answer, NULL, 7));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_event_met(event, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_event_unnamed(event, NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_event_name(NULL, 1));
    answer.verdict = ONCILLA_SCORED + 1;
    EXPECT(ONCILLA_BAD_CHOICE, oncilla_settle(it.search, event, &answer, policy, 7));
    /* What has ended has a result: nothing in between, and no number is none. The event goes on waiting. */
    const float no_results[] = {0.001f, -0.999f, 2, (float)strtod("nan", NULL)};
    for (answer.verdict = ONCILLA_ENDED; answer.verdict <= ONCILLA_TWO_FOLD; answer.verdict++) {
        for (size_t i = 0; i < sizeof no_results / sizeof *no_results; i++) {
            answer.wl = no_results[i];
            EXPECT(ONCILLA_BAD_NUMBER, oncilla_settle(it.search, event, &answer, NULL, 0));
        }
    }
    /* The second occurrence of a position is a draw. */
    answer.verdict = ONCILLA_TWO_FOLD;
    answer.wl = -1;
    EXPECT(ONCILLA_BAD_NUMBER, oncilla_settle(it.search, event, &answer, NULL, 0));
    answer.wl = 0;
    answer.verdict = ONCILLA_POSITION;
    /* The event that collided waits for no answer. */
    EXPECT(ONCILLA_STALE, oncilla_settle(it.search, it.events[1], &answer, policy, 7));
    OK(oncilla_cancel(it.search, it.events[1]));
    EXPECT(ONCILLA_TOO_MANY_EDGES, oncilla_settle(it.search, event, &answer, policy, ONCILLA_MAX_EDGES + 1));
    OK(oncilla_gather(it.search, it.events, 1));
    EXPECT(ONCILLA_NO_EDGES, oncilla_settle(it.search, event, &answer, policy, 0));
    EXPECT(ONCILLA_STALE, oncilla_settle(it.search, event, &answer, policy, 7));
    OK(oncilla_gather(it.search, it.events, 1));
    OK(oncilla_answer(it.search, event, &answer, policy, 7));

    /* A new move has no name yet. */
    OK(oncilla_gather(it.search, it.events, 1));
    OK(oncilla_event_unnamed(event, &index));
    CHECK(index == 0);
    OK(oncilla_event_moves(event, NULL, 0, &count));
    CHECK(count == 0);
    EXPECT(ONCILLA_UNNAMED, oncilla_settle(it.search, event, &answer, policy, 7));
    OK(oncilla_gather(it.search, it.events, 1));
    OK(oncilla_event_name(event, 3));
    EXPECT(ONCILLA_BUFFER_TOO_SMALL, oncilla_event_moves(event, NULL, 0, &count));
    CHECK(count == 1);
    OK(oncilla_event_moves(event, line, CELLS, &count));
    CHECK(count == 1 && line[0] == 3);
    /* Numbers that are none don't harm: they count as 0. */
    answer.wl = answer.d = answer.m = (float)strtod("nan", NULL);
    policy[0] = (float)strtod("nan", NULL);
    policy[1] = (float)strtod("inf", NULL);
    OK(oncilla_answer(it.search, event, &answer, policy, 7));

    /* A tree that was cleared, and one that was advanced, know nothing of what was in flight. */
    OK(oncilla_gather(it.search, it.events, 1));
    leaf_of(event, start);
    OK(oncilla_clear(it.search));
    EXPECT(ONCILLA_STALE, oncilla_answer(it.search, event, &answer, policy, 7));
    OK(oncilla_gather(it.search, it.events, 1));
    uint16_t mv = 3;
    uint32_t visits = 1;
    OK(oncilla_advance(it.search, &mv, 1, &visits));
    CHECK(visits == 0);
    OK(oncilla_bring_back(it.search, it.events, 1));
    EXPECT(ONCILLA_STALE, oncilla_answer(it.search, event, &answer, policy, 7));

    /* An event that is not under way is nobody's, whichever search it was in last. */
    OK(oncilla_cancel(it.search, event));
    OncillaEvent *mixed[2] = {other.events[0], event};
    OncillaAnswer even = {0};
    OncillaStats stats;
    OK(oncilla_gather(other.search, mixed, 1));
    OK(oncilla_settle(other.search, mixed[0], &even, (float[COLUMNS]){0}, COLUMNS));
    OK(oncilla_bring_back(other.search, mixed, 2));
    OK(oncilla_cancel(other.search, event));
    EXPECT(ONCILLA_STALE, oncilla_settle(other.search, event, &even, policy, COLUMNS));
    OK(oncilla_stats(other.search, &stats));
    CHECK(stats.visits == 1 && stats.in_flight == 0);

    /* A repetition is worth a draw, whatever else its answer says. */
    OncillaRootEdge edge;
    OncillaAnswer repeated = {.verdict = ONCILLA_TWO_FOLD, .d = 0.7f, .m = 2};
    OK(oncilla_gather(other.search, &event, 1));
    OK(oncilla_event_name(event, 0));
    OK(oncilla_answer(other.search, event, &repeated, NULL, 0));
    OK(oncilla_root_edges(other.search, &edge, 1, NULL));
    CHECK(edge.visits == 1 && edge.wl == 0 && edge.d == 1);

    /* The first occurrence lies before the root, so the next playout asks about the position anew. A score is worth
     * what its answer says, to the other side the opposite, and proves nothing. */
    OncillaAnswer scored = {.verdict = ONCILLA_SCORED, .wl = 0.25f, .d = 0.5f, .m = 9};
    OK(oncilla_gather(other.search, &event, 1));
    OK(oncilla_answer(other.search, event, &scored, NULL, 0));
    OK(oncilla_root_edges(other.search, &edge, 1, NULL));
    CHECK(edge.mv == 0 && edge.visits == 1 && edge.wl > -0.2501f && edge.wl < -0.2499f);
    CHECK(edge.d > 0.4999f && edge.d < 0.5001f && edge.m == 9 && edge.lower == -1 && edge.upper == 1);

    unmake(&it);
    unmake(&other);
}

static void parameters(void) {
    OncillaParams good, bad;
    EXPECT(ONCILLA_NULL_POINTER, oncilla_params_default(NULL));
    OK(oncilla_params_default(&good));
    OK(oncilla_params_check(&good));
    CHECK(good.cpuct.init > 1.7f && good.cpuct.init < 1.8f && good.moves_left.on == 0);
#define BAD(status, field, value) (bad = good, bad.field = (value), EXPECT(status, oncilla_params_check(&bad)))
    BAD(ONCILLA_BAD_NUMBER, cpuct.init, (float)strtod("nan", NULL));
    BAD(ONCILLA_BAD_NUMBER, cpuct.init, 1e30f);
    BAD(ONCILLA_BAD_NUMBER, cpuct.factor, -1);
    good.cpuct_at_root.base = 0;
    OK(oncilla_params_check(&good)); /* what is off says nothing */
    BAD(ONCILLA_BAD_NUMBER, root_has_own_cpuct, 1);
    good.cpuct_at_root.base = 1;
    good.root_has_own_cpuct = 1;
    OK(oncilla_params_check(&good));
    BAD(ONCILLA_BAD_NUMBER, cpuct_at_root.base, 0);
    BAD(ONCILLA_BAD_NUMBER, policy_temperature, 0);
    BAD(ONCILLA_BAD_NUMBER, noise.epsilon, 1.5f);
    BAD(ONCILLA_BAD_NUMBER, noise.alpha, 0);
    BAD(ONCILLA_BAD_NUMBER, draw_score, -1.5f);
    BAD(ONCILLA_BAD_NUMBER, temperature.start, -1);
    BAD(ONCILLA_BAD_NUMBER, temperature.value_cutoff, -1);
    BAD(ONCILLA_BAD_NUMBER, temperature.visit_offset, 2000);
    BAD(ONCILLA_BAD_NUMBER, fpu.value, (float)strtod("inf", NULL));
    BAD(ONCILLA_BAD_CHOICE, fpu_at_root.kind, 2);
    good.root_has_own_fpu = 1;
    BAD(ONCILLA_BAD_NUMBER, fpu_at_root.value, 2e6f);
    BAD(ONCILLA_BAD_NUMBER, fpu_parent_power, 101);
    BAD(ONCILLA_BAD_CHOICE, explored, 2);
    BAD(ONCILLA_BAD_CHOICE, catch_up, 2);
    BAD(ONCILLA_BAD_NUMBER, root_policy_sum, 363);
    BAD(ONCILLA_BAD_NUMBER, weighing.prune_scale, -1);
    BAD(ONCILLA_BAD_NUMBER, weighing.exponent, 2);
    BAD(ONCILLA_BAD_NUMBER, weighing.unit, 0);
    BAD(ONCILLA_BAD_NUMBER, wdl_rescale.ratio, 0);
    BAD(ONCILLA_BAD_NUMBER, wdl_rescale.diff, strtod("inf", NULL));
    BAD(ONCILLA_BAD_NUMBER, wdl_rescale.max_s, -1);
    good.deviation.on = 1;
    BAD(ONCILLA_BAD_NUMBER, deviation.usual, 0);
    BAD(ONCILLA_BAD_NUMBER, deviation.weight, -1);
    BAD(ONCILLA_BAD_NUMBER, deviation.scale, 2);
    good.moves_left.on = 1;
    BAD(ONCILLA_BAD_NUMBER, moves_left.max_effect, -1);
    good.lcb.on = 1;
    BAD(ONCILLA_BAD_NUMBER, lcb.stdevs, (float)strtod("nan", NULL));
    BAD(ONCILLA_BAD_NUMBER, lcb.min_visit_share, 1.5f);
    OncillaCapacity capacity = {NODES, WORDS, 0};
    Fixture it = make(capacity, &good);
    EXPECT(ONCILLA_BAD_NUMBER, oncilla_set_params(it.search, &bad));
    good.temperature.start = 1;
    good.noise.epsilon = 0.25f;
    OK(oncilla_set_params(it.search, &good));
    Board start = {0, 0};
    search_until(&it, start, 200);
    uint16_t mv = 99;
    OK(oncilla_move_to_play(it.search, 0, &mv));
    CHECK(mv < COLUMNS);
    unmake(&it);
}

/* A move that nobody visited can be played by its place. */
static void untried(void) {
    OncillaCapacity capacity = {NODES, WORDS, 0};
    Fixture it = make(capacity, NULL);
    Board start = {0, 0};
    OncillaRootEdge edge = {0};
    uint16_t mv = 99;
    search_until(&it, start, 1);
    EXPECT(ONCILLA_NO_MOVE, oncilla_move_to_play(it.search, 0, &mv));
    OK(oncilla_edge_to_play(it.search, 0, &edge));
    CHECK(edge.mv == -1 && edge.index == 0 && edge.visits == 0);
    search_until(&it, start, 50);
    OK(oncilla_move_to_play(it.search, 0, &mv));
    OK(oncilla_edge_to_play(it.search, 0, &edge));
    CHECK(edge.mv == mv && edge.index == -1 && edge.visits > 0);

    /* If the only move that was tried loses, another one is to be played. */
    OncillaAnswer even = {0}, lost = {.verdict = ONCILLA_ENDED, .wl = 1};
    OK(oncilla_clear(it.search));
    OK(oncilla_gather(it.search, it.events, 1));
    OK(oncilla_answer(it.search, it.events[0], &even, (float[3]){3, 0, 0}, 3));
    OK(oncilla_gather(it.search, it.events, 1));
    OK(oncilla_event_name(it.events[0], 7));
    OK(oncilla_answer(it.search, it.events[0], &lost, NULL, 0));
    OK(oncilla_best_move(it.search, &mv));
    CHECK(mv == 7);
    mv = 99;
    EXPECT(ONCILLA_UNNAMED, oncilla_move_to_play(it.search, 0, &mv));
    CHECK(mv == 99);
    OK(oncilla_edge_to_play(it.search, 0, &edge));
    CHECK(edge.mv == -1 && edge.index == 1 && edge.visits == 0);
    unmake(&it);
}

/* Three in a row, open at one end: the fourth wins. In a tree and in a graph, with room and without. */
static void searches(void) {
    static const uint16_t played[6] = {0, 0, 1, 1, 2, 6};
    Board board = {0, 0};
    for (int i = 0; i < 6; i++) board = board_play(board, played[i]);
    OncillaCapacity capacities[4] = {{NODES, WORDS, 0}, {NODES, WORDS, 1}, {200, 3000, 0}, {200, 3000, 1}};
    for (int i = 0; i < 4; i++) {
        Fixture it = make(capacities[i], NULL);
        search_until(&it, board, 1500);
        OncillaStats stats;
        OncillaRootEdge edges[COLUMNS], *best = NULL;
        uint16_t mv = 99, line[8] = {99};
        size_t count = 0;
        OK(oncilla_best_move(it.search, &mv));
        CHECK(mv == 3);
        OK(oncilla_pv(it.search, line, 8, &count));
        CHECK(count == 1 && line[0] == 3);
        OK(oncilla_root_edges(it.search, edges, COLUMNS, &count));
        CHECK(count == COLUMNS);
        uint32_t sum = 1;
        float priors = 0;
        for (size_t k = 0; k < count; k++) {
            sum += edges[k].visits;
            priors += edges[k].prior;
            CHECK(edges[k].in_flight == 0);
            if (edges[k].mv == 3) best = &edges[k];
        }
        OK(oncilla_stats(it.search, &stats));
        CHECK(stats.visits >= 1500 && stats.visits == sum && stats.in_flight == 0);
        CHECK(stats.nodes > 1 && stats.nodes <= capacities[i].nodes && stats.edge_words <= capacities[i].edge_words);
        CHECK(stats.wl > 0.5f && stats.permille_full <= 1000);
        CHECK(stats.lower == 1 && stats.upper == 1);
        CHECK(priors > 0.99f && priors < 1.01f);
        CHECK(best && best->has_value && best->wl > 0.999f && best->lower == 1 && best->upper == 1);
        /* Fewer than there are. */
        OK(oncilla_root_edges(it.search, edges, 2, &count));
        CHECK(count == 2);
        /* Without the winning move another one is best. */
        uint16_t only[2] = {2, 4}, indices[2] = {1, 2};
        OK(oncilla_clear(it.search));
        OK(oncilla_set_root_moves(it.search, only, indices, 2));
        OK(oncilla_set_remaining_playouts(it.search, 1000));
        OK(oncilla_set_remaining_playouts(it.search, ONCILLA_NO_LIMIT));
        search_until(&it, board, 300);
        OK(oncilla_best_move(it.search, &mv));
        CHECK(mv == 2 || mv == 4);
        /* The game goes on, and the tree is kept. */
        uint32_t kept = 0;
        OK(oncilla_start_move(it.search));
        OK(oncilla_advance(it.search, &mv, 1, &kept));
        CHECK(kept > 1);
        unmake(&it);
    }
}

/* What is said of one root's moves holds until there is another root. */
static void root_moves(void) {
    OncillaCapacity capacity = {NODES, WORDS, 0};
    Fixture it = make(capacity, NULL);
    Board start = {0, 0};
    uint16_t mv = 99, none = 40;
    OncillaMet met;
    search_until(&it, start, 50);
    OK(oncilla_best_move(it.search, &mv));
    for (int i = 0; i < 2; i++) {
        /* No move of this root. */
        OK(oncilla_set_root_moves(it.search, &none, &none, 1));
        OK(oncilla_gather(it.search, it.events, 1));
        OK(oncilla_event_met(it.events[0], &met));
        CHECK(met == ONCILLA_NO_MOVES);
        OK(i == 0 ? oncilla_advance(it.search, &mv, 1, NULL) : oncilla_clear(it.search));
        OK(oncilla_gather(it.search, it.events, 1));
        OK(oncilla_event_met(it.events[0], &met));
        CHECK(met == ONCILLA_LEAF || met == ONCILLA_KNOWN);
        OK(oncilla_cancel(it.search, it.events[0]));
    }
    unmake(&it);
}

enum { MANY = 500 };

/* Playouts until every move of a root with many of them was visited. */
static void *visit_all(void *fixture) {
    Fixture *it = fixture;
    static float policy[MANY];
    for (int i = 0; i < 2 * MANY; i++) {
        OncillaAnswer answer = {0};
        OncillaMet met;
        int32_t unnamed;
        size_t plies;
        uint16_t line[16];
        oncilla_gather(it->search, it->events, 1);
        oncilla_event_met(it->events[0], &met);
        if (met != ONCILLA_LEAF) break;
        oncilla_event_unnamed(it->events[0], &unnamed);
        if (unnamed >= 0) oncilla_event_name(it->events[0], (uint16_t)unnamed);
        oncilla_event_moves(it->events[0], line, 16, &plies);
        memset(policy, 0, sizeof policy);
        oncilla_answer(it->search, it->events[0], &answer, policy, plies == 0 ? MANY : 2);
    }
    return NULL;
}

/* Each move of the root is listed once, also while it is visited for the first time. */
static void edges_of_a_search_that_goes_on(void) {
    OncillaCapacity capacity = {4 * MANY, 400 * MANY, 0};
    OncillaParams params;
    OK(oncilla_params_default(&params));
    params.root_has_own_fpu = 1;
    params.fpu_at_root.kind = ONCILLA_FPU_ABSOLUTE;
    params.fpu_at_root.value = 1;
    Fixture it = make(capacity, &params);
    int missing = 0;
    for (int round = 0; round < 20; round++) {
        OncillaRootEdge edges[MANY + 1] = {0};
        size_t count = 0;
        pthread_t thread;
        OK(oncilla_clear(it.search));
        if (pthread_create(&thread, NULL, visit_all, &it) != 0) abort();
        do {
            oncilla_root_edges(it.search, edges, MANY + 1, &count);
            missing += count != 0 && count != MANY;
        } while (count == 0 || edges[MANY - 1].mv < 0);
        pthread_join(thread, NULL);
    }
    CHECK(missing == 0);
    unmake(&it);
}

static void time_managers(void) {
    OncillaTimeParams params;
    OncillaTime *time = NULL;
    OncillaBudget budget;
    OncillaClock clock = {0};
    OncillaLeader leader = {1, 0.5f, 0};
    uint32_t go_on = 7;
    size_t bytes = oncilla_time_size();
    char *memory = malloc(bytes);
    CHECK(bytes <= ONCILLA_TIME_BYTES);
    EXPECT(ONCILLA_NULL_POINTER, oncilla_time_params_default(NULL));
    OK(oncilla_time_params_default(&params));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_time_new(NULL, bytes, &params, &time));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_time_new(memory, bytes, &params, NULL));
    EXPECT(ONCILLA_MEMORY_TOO_SMALL, oncilla_time_new(memory, bytes - 1, &params, &time));
    EXPECT(ONCILLA_MISALIGNED, oncilla_time_new(memory + 1, bytes, &params, &time));
    params.smooth.init_nps = 0;
    EXPECT(ONCILLA_BAD_NUMBER, oncilla_time_new(memory, bytes, &params, &time));
    params.manager = ONCILLA_TIME_LEGACY;
    params.legacy.slowmover = 1e308;
    EXPECT(ONCILLA_BAD_NUMBER, oncilla_time_new(memory, bytes, &params, &time));
    params.manager = 4;
    EXPECT(ONCILLA_BAD_CHOICE, oncilla_time_new(memory, bytes, &params, &time));
    OK(oncilla_time_params_default(&params));
    clock.base_ms = 60000;
    clock.overhead_ms = 50;
    for (params.manager = ONCILLA_TIME_SMOOTH; params.manager <= ONCILLA_TIME_SIMPLE; params.manager++) {
        OK(oncilla_time_new(memory, bytes, &params, &time));
        EXPECT(ONCILLA_NO_MOVE_STARTED, oncilla_time_progress(time, 1, 1));
        EXPECT(ONCILLA_NO_MOVE_STARTED, oncilla_time_end(time, 1, 1));
        EXPECT(ONCILLA_NULL_POINTER, oncilla_time_start(time, NULL, 0, &budget));
        EXPECT(ONCILLA_NULL_POINTER, oncilla_time_start(time, &clock, 0, NULL));
        for (clock.ply = 0; clock.ply < 20; clock.ply += 2) {
            OK(oncilla_time_start(time, &clock, 100, &budget));
            CHECK(budget.limit_ms > 0 && budget.limit_ms < clock.base_ms && budget.extension_ms >= 0);
            OK(oncilla_time_progress(time, budget.limit_ms / 2, 1000));
            OK(oncilla_time_leader(time, budget.limit_ms, &leader, &go_on));
            CHECK(go_on <= 1);
            OK(oncilla_time_end(time, budget.limit_ms, 2000));
            EXPECT(ONCILLA_NO_MOVE_STARTED, oncilla_time_leader(time, 1, &leader, &go_on));
        }
    }
    /* `alphazero` gives 12% of the clock less the overhead. */
    params.manager = ONCILLA_TIME_ALPHAZERO;
    OK(oncilla_time_new(memory, bytes, &params, &time));
    OK(oncilla_time_start(time, &clock, 0, &budget));
    CHECK(budget.budget_ms == 7194);
    /* Clocks that can't be. */
    clock.base_ms = -5;
    clock.increment_ms = strtod("nan", NULL);
    OK(oncilla_time_start(time, &clock, 0, &budget));
    CHECK(budget.limit_ms == 0 && budget.in_hurry == 1);
    free(memory);
}

static void moves_left(void) {
    OncillaMovesLeft params;
    OncillaClock clock = {0};
    double moves = 0;
    EXPECT(ONCILLA_NULL_POINTER, oncilla_moves_left_default(NULL));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_moves_left(NULL, NULL, &moves));
    EXPECT(ONCILLA_NULL_POINTER, oncilla_moves_left(NULL, &clock, NULL));
    OK(oncilla_moves_left(NULL, &clock, &moves));
    CHECK(moves == 51.5);
    clock.pieces = 32;
    OK(oncilla_moves_left(NULL, &clock, &moves));
    CHECK(moves == 48.5);
    clock.network_plies = 39;
    OK(oncilla_moves_left(NULL, &clock, &moves));
    CHECK(moves == 20);
    OK(oncilla_moves_left_default(&params));
    params.network = 0;
    OK(oncilla_moves_left(&params, &clock, &moves));
    CHECK(moves == 48.5);
    params.steepness = 0;
    EXPECT(ONCILLA_BAD_NUMBER, oncilla_moves_left(&params, &clock, &moves));
    params.steepness = 1e17;
    EXPECT(ONCILLA_BAD_NUMBER, oncilla_moves_left(&params, &clock, &moves));
}

int main(void) {
    texts();
    memory_of_a_search();
    handles();
    events();
    transpositions();
    parameters();
    untried();
    searches();
    root_moves();
    edges_of_a_search_that_goes_on();
    time_managers();
    moves_left();
    printf("%d checks, %d not as promised\n", checks, failures);
    return failures != 0;
}
