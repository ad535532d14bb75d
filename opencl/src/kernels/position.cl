// A whole network in one launch, for a GPU: what a launch costs there is more than what a small layer costs.
//
// A group takes a position through all layers. Its items meet at a barrier between two of them, and no group waits for another, so that
// groups may run in any order. What a layer makes is read by the same group only.
//
//   range     [batch * ITEMS][1], groups of [ITEMS][1]
//   table     [row][ROW]: which kernel, what is named below, and from the eighth on the kernel's arguments, an int as it is, a
//             pointer as a place in `weights` or `values`
//   weights   what nothing writes to
//   values    everything else
//   local     SHARED fours
//
// Options: what all families need. Before this text stand the names of network.rs: ROW, ITEMS and SHARED; CASES, for each kernel one that
// calls it for position n; and the places in a row
//
//   KIND                which of CASES
//   ACROSS              groups of a position, one after the other; or items, ITEMS at a time

// A kernel whose items work together.
#define BY_GROUP(call)                                                                                                 \
    for (int g = 0; g < row[ACROSS]; g++) {                                                                            \
        /* What the group before had in local memory has been read. */                                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        call                                                                                                           \
    }
// A kernel whose items know nothing of each other.
#define BY_ITEM(call)                                                                                                  \
    for (int y = get_local_id(0); y < row[ACROSS]; y += ITEMS) { call }

kernel IN_GROUPS(ITEMS, 1) void position(global const int *restrict table, int rows, global const float *restrict weights,
                                         global float *values, int batch) {
    local float4 shared[SHARED];
    const int n = get_group_id(0);
    for (int r = 0; r < rows; r++) {
        global const int *row = table + r * ROW;
        // What other items of the group have made is read.
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        switch (row[KIND]) { CASES }
    }
}
