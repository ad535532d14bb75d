// A whole network in one launch, for the cores of a host: what a launch costs there is more than what a small layer costs.
//
// A row of the table is a launch that is not made. Its items are parted among the groups, the same part of each row for a group, so
// that it finds much of what it made in its core's cache; a counter for each part hands them out, a few at a time. A group takes
// what is its own, then what others have left, says how many items it has done, and goes on to the next row. A row that needs what
// rows before it made waits until all of their items are done. Whoever has taken an item is running and doesn't wait, so that
// any number of groups, running at the same time or one after the other, comes to an end.
//
//   range     [groups][1], groups of one item
//   table     [row][ROW]: which kernel, what is named below, and from the eighth on the kernel's arguments, an int as it is, a
//             pointer as a place in `weights` or `values`
//   weights   what nothing writes to
//   values    everything else
//   state     [2][row][group][STATE]. Two halves, used by turns: this batch counts in one, which starts as zeros, and
//             clears the other for the next batch.
//   local     none
//
// Options: what all families need. Before this text stand the names of network.rs: ROW and STATE; CASES, for each kernel one that
// calls it for item (x, y); and the places in a row
//
//   KIND                which of CASES
//   FROM, UNTIL         batches of FROM to UNTIL - 1 positions have this row
//   EACH, WHOLE, ACROSS ceil(batch * EACH / WHOLE) by ACROSS items
//   WAITS               whether it waits for all rows before it

// Of a row's state for a group: how many items of its part are taken, by whomever, and how many of any part it has done.
#define TAKEN 0
#define DONE 1

// Of what is left of a part this share is taken at a time, so that all groups end a row at nearly the same time.
#define SHARE 2

// FENCE: What a group wrote before its fence is visible to every group that reads after its own. A fence of OpenCL 1.2
// says nothing of other groups, and PoCL makes nothing of it; that of the compiler is for all cores. Where groups run
// one after the other any will do.
//
// PAUSE: what a core does while it waits; without it, it takes from its neighbour.
//
// GIVE_WAY: has the system run another thread where more want to run than there are cores: the group that is waited for may be
// among them. By the system call's number, for PoCL links nothing of the C library.
#if defined(__has_builtin) && !defined(__SPIR__)
#if __has_builtin(__sync_synchronize)
#define FENCE() __sync_synchronize()
#endif
#if __has_builtin(__builtin_ia32_pause)
#define PAUSE() __builtin_ia32_pause()
#endif
#if defined(__linux__) && defined(__x86_64__)
#define GIVE_WAY()                                                                                                     \
    do {                                                                                                               \
        long number = 24;                                                                                              \
        __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");                                         \
    } while (0)
#elif defined(__linux__) && defined(__aarch64__)
#define GIVE_WAY() __asm__ volatile("mov x8, #124\n\tsvc #0" : : : "x0", "x8", "memory")
#endif
#endif
#ifndef FENCE
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
#ifndef PAUSE
#define PAUSE()
#endif
#ifndef GIVE_WAY
#define GIVE_WAY()
#endif

// So many counts a group looks at in vain before each time that it gives way: with two groups 2,048 turns of waiting, some tens of
// microseconds, longer than most waits. Who gives way too often is passed over by others (32 turns took 1.3 to 1.6 times as long on a
// loaded machine, see docs/changes.md).
#define LOOKS 4096

// What a group takes first of a row: items from (x, y) on.
typedef struct {
    int x, y, width, across;
} part_t;

// The items of a part from `first` to before `end`, all of a position or all that read the same weights one after the other. No
// division for each, which takes as long as several products.
#define IN_ORDER(outer, inner, length, call)                                                                           \
    for (int at = first, outer = first / part.length, inner = first % part.length; at < end; at++) {                   \
        const int x = part.x + u, y = part.y + v;                                                                      \
        call                                                                                                           \
        if (++inner == part.length) outer++, inner = 0;                                                                \
    }
#define BY_POSITION(call) IN_ORDER(u, v, across, call)
#define BY_WEIGHTS(call) IN_ORDER(v, u, width, call)

INLINED void run_items(int first, int end, part_t part, global const int *restrict row, global const float *weights,
                       global float *values, int batch) {
    switch (row[KIND]) { CASES }
}

// Items of a row along dimension 0.
INLINED int row_width(global const int *row, int batch) {
    if (batch < row[FROM] || batch >= row[UNTIL]) return 0;
    return (batch * row[EACH] + row[WHOLE] - 1) / row[WHOLE];
}

// The part of a row that a group takes first: of the positions, where there are enough of them.
INLINED part_t part_of(int group, int groups, int width, int across) {
    const int by_width = width >= min(groups, across);
    const int all = by_width ? width : across;
    const int each = all / groups;
    const int more = all % groups;
    const int first = each * group + min(group, more);
    const int some = each + (group < more);
    return by_width ? (part_t){first, 0, some, across} : (part_t){0, first, width, some};
}

// Until all items of rows [first, end) are done.
INLINED void wait_for(global const int *table, int first, int end, global volatile int *state, int groups, int batch) {
    for (int r = first; r < end; r++) {
        const int items = row_width(table + r * ROW, batch) * table[r * ROW + ACROSS];
        for (int looks = groups;; looks += groups) {
            int done = 0;
            for (int g = 0; g < groups; g++) done += state[(r * groups + g) * STATE + DONE];
            if (done >= items) break;
            PAUSE();
            if (looks < LOOKS) continue;
            GIVE_WAY();
            looks = 0;
        }
    }
    FENCE();
}

kernel void network(global const int *restrict table, int rows, global const float *restrict weights,
                    global float *values, global volatile int *state, int half_of_state, int batch) {
    const int groups = get_num_groups(0);
    const int group = get_group_id(0);
    const int counted = rows * groups * STATE;
    global volatile int *next_state = state + (1 - half_of_state) * counted;
    state += half_of_state * counted;
    int waited = 0;
    for (int r = 0; r < rows; r++) {
        global const int *row = table + r * ROW;
        if (row[WAITS]) {
            wait_for(table, waited, r, state, groups, batch);
            waited = r;
        }
        const int width = row_width(row, batch);
        int done = 0;
        for (int k = 0; k < groups && width > 0; k++) {
            const int owner = group + k < groups ? group + k : group + k - groups;
            const part_t part = part_of(owner, groups, width, row[ACROSS]);
            const int count = part.width * part.across;
            global volatile int *taken = state + (r * groups + owner) * STATE + TAKEN;
            while (1) {
                // Others may take some in between: this is how many, not which.
                const int left = count - *taken;
                if (left <= 0) break;
                const int some = max(left / SHARE, 1);
                const int first = atomic_add(taken, some);
                const int end = min(first + some, count);
                if (first >= end) break;
                run_items(first, end, part, row, weights, values, batch);
                done += end - first;
            }
        }
        FENCE();
        state[(r * groups + group) * STATE + DONE] = done;
        next_state[(r * groups + group) * STATE + TAKEN] = 0;
        next_state[(r * groups + group) * STATE + DONE] = 0;
    }
}
