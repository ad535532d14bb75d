/* How much of the stack each call takes: of a search that has folded, for then it takes the most. Each runs on a painted stack of its own. Exits
 * with 1 if one takes more than docs/embedding.md says. */
#define _POSIX_C_SOURCE 200809L
#include <oncilla.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 300, WORDS = 4000, MOVES = 20, STACK = 1 << 16, PAINT = 0xa5, MOST = 8 * 1024 };

static OncillaCapacity capacity = {NODES, WORDS, 0};
static OncillaSearch *search;
static OncillaEvent *event;
static OncillaTime *timer;
static void *memory, *timer_memory;
static size_t bytes;

static void nothing(void) {}

static void search_new(void) { oncilla_search_new(memory, bytes, &capacity, NULL, &search); }

static void gather(void) { oncilla_gather(search, &event, 1); }

/* Says that the event's leaf is an even position: to oncilla_answer or oncilla_settle. */
static void even(OncillaStatus (*say)(const OncillaSearch *, OncillaEvent *, const OncillaAnswer *, float *, size_t)) {
    OncillaAnswer answer = {0};
    float policy[MOVES] = {0};
    int32_t unnamed = -1;
    oncilla_event_unnamed(event, &unnamed);
    if (unnamed >= 0) oncilla_event_name(event, (uint16_t)unnamed);
    say(search, event, &answer, policy, MOVES);
}

static void answer(void) { even(oncilla_answer); }

static void bring_back(void) { oncilla_bring_back(search, &event, 1); }

static void recycle(void) { oncilla_recycle(search, NULL); }

static void best_move(void) {
    uint16_t mv;
    oncilla_best_move(search, &mv);
}

static void move_to_play(void) {
    uint16_t mv;
    oncilla_move_to_play(search, 0, &mv);
}

static void pv(void) {
    uint16_t line[16];
    size_t count;
    oncilla_pv(search, line, 16, &count);
}

static void set_root_moves(void) {
    uint16_t first = 0;
    oncilla_set_root_moves(search, &first, &first, 1);
}

static void advance(void) {
    uint16_t first = 0;
    oncilla_advance(search, &first, 1, NULL);
}

static void edge_to_play(void) {
    OncillaRootEdge edge;
    oncilla_edge_to_play(search, 0, &edge);
}

static void root_edges(void) {
    static OncillaRootEdge edges[MOVES];
    oncilla_root_edges(search, edges, MOVES, NULL);
}

static void stats(void) {
    OncillaStats stats;
    oncilla_stats(search, &stats);
}

static void settle(void) { even(oncilla_settle); }

static void set_params(void) { oncilla_set_params(search, NULL); }

static void clear(void) { oncilla_clear(search); }

static void time_progress(void) { oncilla_time_progress(timer, 10, 100); }

static void time_leader(void) {
    OncillaLeader leader = {1, 0.5f, 0};
    uint32_t go_on;
    oncilla_time_leader(timer, 20, &leader, &go_on);
}

static void time_end(void) { oncilla_time_end(timer, 30, 300); }

static void time_new(void) { oncilla_time_new(timer_memory, oncilla_time_size(), NULL, &timer); }

static void time_start(void) {
    OncillaClock clock = {.base_ms = 60000};
    OncillaBudget budget;
    oncilla_time_start(timer, &clock, 0, &budget);
}

static void *run(void *call) {
    (*(void (**)(void))call)();
    return NULL;
}

/* Bytes of stack that a thread takes which does nothing else. */
static size_t taken(void (*call)(void)) {
    static unsigned char stack[STACK] __attribute__((aligned(4096)));
    pthread_attr_t attributes;
    pthread_t thread;
    memset(stack, PAINT, STACK);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    if (pthread_create(&thread, &attributes, run, &call) != 0) abort();
    pthread_join(thread, NULL);
    size_t free = 0;
    while (free < STACK && stack[free] == PAINT) free++;
    return STACK - free;
}

static int failures;

static void measure(const char *name, void (*call)(void)) {
    size_t thread = taken(nothing), all = taken(call), most = all > thread ? all - thread : 0;
    printf("%-16s %zu\n", name, most);
    failures += most > MOST;
}

int main(void) {
    if (oncilla_search_size(&capacity, &bytes) != ONCILLA_OK) return 1;
    memory = malloc(bytes);
    timer_memory = malloc(oncilla_time_size());
    void *event_memory = malloc(oncilla_event_size());
    if (oncilla_event_new(event_memory, oncilla_event_size(), &event) != ONCILLA_OK) return 1;
    measure("search_new", search_new);
    for (int i = 0; i < 3000; i++) {
        OncillaMet met;
        gather();
        oncilla_event_met(event, &met);
        if (met == ONCILLA_LEAF) answer();
        if (met == ONCILLA_KNOWN) bring_back();
        if (met == ONCILLA_FULL) recycle();
    }
    OncillaStats found;
    if (oncilla_stats(search, &found) != ONCILLA_OK || found.restored == 0) return 1;
    measure("best_move", best_move);
    measure("move_to_play", move_to_play);
    measure("edge_to_play", edge_to_play);
    measure("root_edges", root_edges);
    measure("stats", stats);
    measure("pv", pv);
    measure("recycle", recycle);
    measure("gather", gather);
    measure("answer", answer);
    gather();
    measure("settle", settle);
    measure("bring_back", bring_back);
    measure("set_root_moves", set_root_moves);
    measure("advance", advance);
    measure("set_params", set_params);
    measure("clear", clear);
    measure("time_new", time_new);
    measure("time_start", time_start);
    measure("time_progress", time_progress);
    measure("time_leader", time_leader);
    measure("time_end", time_end);
    free(memory);
    free(timer_memory);
    free(event_memory);
    return failures != 0;
}
