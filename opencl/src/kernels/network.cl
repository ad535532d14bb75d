// A whole network in one launch, for the cores of a host: what a launch costs there is more than what a small layer costs.
//
// A row of the table is a launch that is not made. Its items are handed out by a counter, a few at a time, to whoever comes: a
// group takes what it gets, counts it as done, and goes on to the next row when nothing is left. A row that needs what rows
// before it made waits until all of their items are done. Whoever has taken an item is running and doesn't wait, so that any
// number of groups, running at the same time or one after the other, comes to an end.
//
//   range     [groups][1], groups of one item
//   table     [row][ROW]: which kernel, what is named below, and from the eighth on the kernel's arguments, an int as it is, a
//             pointer as a place in `weights` or `values`
//   weights   what nothing writes to
//   values    everything else
//   state     [row][STATE], zeros before and after
//   local     none
//
// Options: what all families need. Before this text stand `run_items`, which has a case for each kernel, and the names of
// network.rs: ROW and STATE; and the places in a row
//
//   KIND                the case of `run_items`
//   FROM, UNTIL         batches of FROM to UNTIL - 1 positions have this row
//   EACH, WHOLE, ACROSS ceil(batch * EACH / WHOLE) by ACROSS items
//   WAITS               whether it waits for all rows before it

// Of a row's state: next item, items done.
#define NEXT 0
#define DONE 1

// A group takes this part of what is left for it, so that all end a row at nearly the same time.
#define PARTS 2

// FENCE: what a group wrote before it, others read behind theirs. A fence of OpenCL 1.2 says nothing of other groups, and PoCL
// makes nothing of it; that of the compiler is for all cores. Where groups run one after the other any will do.
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

// Turns of waiting before each time that a group gives way: some tens of microseconds, longer than most waits. Who gives way too often
// is passed over by others (32 turns took 1.3 to 1.6 times as long on a loaded machine, see BENCHMARKS.md).
#define TURNS 2048

// Items of a row along dimension 0.
INLINED int row_width(global const int *row, int batch) {
    if (batch < row[FROM] || batch >= row[UNTIL]) return 0;
    return (batch * row[EACH] + row[WHOLE] - 1) / row[WHOLE];
}

// Until all items of rows [first, end) are done.
INLINED void wait_for(global const int *table, int first, int end, global volatile int *state, int batch) {
    for (int r = first; r < end; r++) {
        const int items = row_width(table + r * ROW, batch) * table[r * ROW + ACROSS];
        for (uint turns = 1; state[r * STATE + DONE] < items; turns++) {
            PAUSE();
            if (turns % TURNS == 0) GIVE_WAY();
        }
    }
    FENCE();
}

// `state` of no row is in use any more when the last group is here.
INLINED void leave(int rows, global volatile int *state) {
    const int groups = get_num_groups(0);
    FENCE();
    if (atomic_inc(state + rows * STATE) + 1 < groups) return;
    FENCE();
    for (int r = 0; r <= rows; r++) {
        state[r * STATE + NEXT] = 0;
        state[r * STATE + DONE] = 0;
    }
}

kernel void network(global const int *restrict table, int rows, global const float *restrict weights,
                    global float *values, global volatile int *state, int batch) {
    const int groups = get_num_groups(0);
    int waited = 0;
    for (int r = 0; r < rows; r++) {
        global const int *row = table + r * ROW;
        if (row[WAITS]) {
            wait_for(table, waited, r, state, batch);
            waited = r;
        }
        const int width = row_width(row, batch);
        const int items = width * row[ACROSS];
        while (1) {
            // Others may take some in between: this is how many, not which.
            const int part = max((items - state[r * STATE + NEXT]) / (groups * PARTS), 1);
            const int first = atomic_add(state + r * STATE + NEXT, part);
            if (first >= items) break;
            const int end = min(first + part, items);
            run_items(first, end, width, row[ACROSS], row, weights, values, batch);
            FENCE();
            atomic_add(state + r * STATE + DONE, end - first);
        }
    }
    leave(rows, state);
}
