// Oncilla: PUCT tree search in memory that the host lends. docs/embedding.md explains it with examples.
//
// Made by `ci/capi --header` from core/capi/src; do not edit.
//
// What holds for every function:
//
// - Memory is the host's. A handle lies in memory that the host lends to the function that makes it, aligned to
//   ONCILLA_ALIGN (malloc's is), and may be moved or used for something else only when the handle is no longer used.
// - A pointer must be NULL, or point to as many objects as its type and the count beside it say. NULL, a wrong alignment,
//   memory that is too small, and a pointer to something that is no handle are answered by a status. A pointer to memory
//   that is not there can't be.
// - Where a status other than ONCILLA_OK comes back, nothing was written to what pointers lead to, unless said otherwise.
// - Functions that take `const OncillaSearch *` may be called by several threads at once on one search, each with events
//   of its own. Those that take `OncillaSearch *` must be alone with it. Different searches don't know each other.
//   An event, a time manager, and memory for output belong to one thread at a time.
// - A call waits in a loop for nodes that another one holds. So one that interrupts another one of the same search waits for
//   ever: call nothing on a search from an interrupt or a signal handler. Tasks of different priorities on one processor
//   need a mutex with priority inheritance around their calls.
// - A move is a number of 16 bits that means something to the host only. Values are seen from the side to move at the
//   position (or, of a move, from the side that makes it): `wl` is the probability of a win minus that of a loss, `d` that
//   of a draw, `m` the plies left.


#ifndef ONCILLA_H
#define ONCILLA_H

#include <stddef.h>
#include <stdint.h>

// Bytes that are enough for a search of so many nodes and edge words, for a graph, and for an event of so many plies: for
// memory whose size has to be known when the program is compiled. oncilla_search_size and oncilla_event_size say how many
// of them are used.
#define ONCILLA_SEARCH_BYTES(nodes, edge_words) \
    (ONCILLA_SEARCH_OVERHEAD + 20 * (size_t)(nodes) + 4 * (size_t)(edge_words))
#define ONCILLA_GRAPH_BYTES(nodes, edge_words) (ONCILLA_SEARCH_BYTES(nodes, edge_words) + 20 * (size_t)(nodes))
#define ONCILLA_EVENT_BYTES(plies) (ONCILLA_EVENT_OVERHEAD + ONCILLA_PLY_BYTES * (size_t)(plies))

// `OncillaAnswer.verdict`: the game goes on.
#define ONCILLA_POSITION 0

// `OncillaAnswer.verdict`: the game ends here by the rules.
#define ONCILLA_ENDED 1

// `OncillaAnswer.verdict`: the result is known by an endgame tablebase.
#define ONCILLA_TABLEBASE 2

// `OncillaAnswer.verdict`: the second occurrence of a position that first occurred in the tree, taken for a draw; `m`
// is the plies of the cycle.
#define ONCILLA_TWO_FOLD 3

// Plies that an event has room for, unless ONCILLA_PLIES in the environment of the library's build said otherwise.
#define ONCILLA_DEFAULT_PLIES 128

// Bytes that an event takes beside its path, at most: for ONCILLA_EVENT_BYTES.
#define ONCILLA_EVENT_OVERHEAD 128

// Bytes of each ply of a path.
#define ONCILLA_PLY_BYTES 16

// Alignment that lent memory must have, in bytes: malloc's is at least that.
#define ONCILLA_ALIGN 8

// `OncillaFpu.kind`: an unvisited move is worth its parent's value minus value times the root of the visited priors'
// sum.
#define ONCILLA_FPU_REDUCTION 0

// `OncillaFpu.kind`: an unvisited move is worth this value.
#define ONCILLA_FPU_ABSOLUTE 1

// `OncillaParams.explored`: visits.
#define ONCILLA_EXPLORED_VISITS 0

// `OncillaParams.explored`: what visits weigh together; the moves left of a value are 8 times what a visit weighs
// then, and there is no moves-left utility (KataGo's useUncertainty).
#define ONCILLA_EXPLORED_WEIGHTS 1

// `OncillaParams.catch_up`: as long as the edge's value is another one than the position's (Lc0's graph search).
#define ONCILLA_CATCH_UP_VALUES 0

// `OncillaParams.catch_up`: as long as the edge has fewer visits than the position (KataGo's graph search).
#define ONCILLA_CATCH_UP_VISITS 1

// Most legal moves of a position. (Go on a 19x19 board has 362.)
#define ONCILLA_MAX_EDGES 1023

// oncilla_set_remaining_playouts: there is no limit.
#define ONCILLA_NO_LIMIT 4294967295

// Bytes that a search takes beside its nodes and edge words, at most: for ONCILLA_SEARCH_BYTES. It takes some 2,500 of
// them, unless the library is part of a Rust program that gives each thread a share of the memory.
#define ONCILLA_SEARCH_OVERHEAD 6144

// `OncillaTimeParams.manager`: every move's tree holds the same number of nodes.
#define ONCILLA_TIME_SMOOTH 0

// `OncillaTimeParams.manager`: the time is shared out evenly over the moves left.
#define ONCILLA_TIME_LEGACY 1

// `OncillaTimeParams.manager`: a fixed part of the clock.
#define ONCILLA_TIME_ALPHAZERO 2

// `OncillaTimeParams.manager`: a part of the clock that grows with the game.
#define ONCILLA_TIME_SIMPLE 3

// Bytes that a time manager takes, at most.
#define ONCILLA_TIME_BYTES 1024

// What became of a call.
enum OncillaStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It did what it should.
    ONCILLA_OK = 0,
    // A pointer is NULL that may not be.
    ONCILLA_NULL_POINTER = 1,
    // A pointer is not aligned as its type asks for, or lent memory not to ONCILLA_ALIGN.
    ONCILLA_MISALIGNED = 2,
    // The memory lent is smaller than the function for its size says.
    ONCILLA_MEMORY_TOO_SMALL = 3,
    // The pointer leads to no such handle: it was never made, or its memory has been used for something else.
    ONCILLA_NOT_A_HANDLE = 4,
    // A parameter is no number, or out of its range.
    ONCILLA_BAD_NUMBER = 5,
    // A number that should choose one of several things chooses none.
    ONCILLA_BAD_CHOICE = 6,
    // A count or a capacity is 0, or larger than can be.
    ONCILLA_BAD_COUNT = 7,
    // The room for output is smaller than what should go there.
    ONCILLA_BUFFER_TOO_SMALL = 8,
    // The same event stands twice in one array.
    ONCILLA_SAME_EVENT = 9,
    // The event was gathered from another search, and is under way there, or was until its tree was forgotten: cancel
    // it there.
    ONCILLA_OTHER_SEARCH = 10,
    // The event waits for no answer, or for another one than this; or the tree was cleared or advanced since it was
    // gathered.
    ONCILLA_STALE = 11,
    // Nobody said which move the event's last one is: oncilla_event_name.
    ONCILLA_UNNAMED = 12,
    // A position that goes on came without a legal move.
    ONCILLA_NO_EDGES = 13,
    // More legal moves came than a node can have: ONCILLA_MAX_EDGES.
    ONCILLA_TOO_MANY_EDGES = 14,
    // The memory has no room for the root's moves.
    ONCILLA_NO_ROOM = 15,
    // There is no such move: nothing was searched yet, or the game has ended.
    ONCILLA_NO_MOVE = 16,
    // oncilla_time_end or the like without oncilla_time_start.
    ONCILLA_NO_MOVE_STARTED = 17,
    // The event is under way: bring it back or cancel it first.
    ONCILLA_IN_FLIGHT = 18,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum OncillaStatus OncillaStatus;
#else
typedef int32_t OncillaStatus;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a playout met on its way down.
enum OncillaMet
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A node that nobody has evaluated: oncilla_settle or oncilla_answer it.
    ONCILLA_LEAF = 0,
    // A node whose value is known already: oncilla_bring_back, there is nothing to answer.
    ONCILLA_KNOWN = 1,
    // A node that another playout is evaluating: oncilla_cancel it once that one's answer is in.
    ONCILLA_COLLISION = 2,
    // No room for another node: oncilla_recycle, then gather again. If it freed 0, answer and bring back what is in
    // flight, and try again; with nothing in flight the search can't go on.
    ONCILLA_FULL = 3,
    // The game has ended at the root, no move may be searched there, or it has 4,000,000,000 visits.
    ONCILLA_NO_MOVES = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum OncillaMet OncillaMet;
#else
typedef int32_t OncillaMet;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A playout under way: the path from the root to a leaf. It lies in memory of the host's, and is used again from
// playout to playout.
typedef struct OncillaEvent OncillaEvent;

// A search. It lies in memory of the host's.
typedef struct OncillaSearch OncillaSearch;

// The time manager of one game. It lies in memory of the host's.
typedef struct OncillaTime OncillaTime;

// What is known of a leaf, besides its policy.
typedef struct OncillaAnswer {
    // The position's key. A tree does not need it; a graph joins positions by it. Equal keys mean equal legal moves
    // and equal results, here and after whatever is played from here on: where what went before forbids a move or ends
    // the game, mix a digest of it into the key, such as the moves since the last one that can't be taken back and
    // what they repeated. Otherwise what is proven after one way, such as a draw by repetition, is taken for proven
    // after the others. And no line of moves may come by a key twice: where a game can come back to where it was, such
    // a digest tells the two apart, and where neither results nor legal moves depend on what went before, the plies
    // from the start of the game do. Otherwise the graph has a cycle: values and proofs go round in it, its nodes are
    // never freed, and two threads may wait for each other for ever. A key of the leaf's own path is not joined; a
    // cycle that two paths make together is not seen.
    uint64_t key;
    // ONCILLA_POSITION, ONCILLA_ENDED, ONCILLA_TABLEBASE or ONCILLA_TWO_FOLD.
    uint32_t verdict;
    // The value to the side to move: a win's probability minus a loss's, in [-1, 1]. Of ONCILLA_ENDED and
    // ONCILLA_TABLEBASE it is -1, 0 or 1, of ONCILLA_TWO_FOLD 0: ONCILLA_BAD_NUMBER else. Of ONCILLA_POSITION any
    // number will do for this and the others: one that is out of its range counts as the nearest in it, and what is no
    // number as 0.
    float wl;
    // The probability of a draw, in [0, 1]. Of the other verdicts the result says it.
    float d;
    // Plies until the end of the game, at least 0.
    float m;
} OncillaAnswer;

// Hears of a panic: the file (not ended by a zero byte), its length and the line. When it returns, the program aborts.
typedef void (*OncillaPanicCallback)(const char *file, size_t length, uint32_t line);

// How fast exploration grows with N: init + factor * ln((N + base) / base).
typedef struct OncillaCpuct {
    // CPuct, in [0, 1000000].
    float init;
    // CPuctBase, in visits: in [1, 1000000000].
    float base;
    // CPuctFactor, in [0, 1000000].
    float factor;
} OncillaCpuct;

// What an unvisited move is worth (first play urgency).
typedef struct OncillaFpu {
    // ONCILLA_FPU_REDUCTION or ONCILLA_FPU_ABSOLUTE.
    uint32_t kind;
    // What it says, in [-1000000, 1000000].
    float value;
} OncillaFpu;

// How exploration follows the values below a node (KataGo's cpuctUtilityStdev...): it is multiplied by
// 1 + scale * (deviation / usual - 1).
typedef struct OncillaDeviation {
    // Not 0 where it follows them.
    uint32_t on;
    // The deviation with which exploration is as it is, in [0.000001, 1000000].
    float usual;
    // What that one counts, in visits, in [0, 1000000].
    float weight;
    // How far exploration follows, in [0, 1].
    float scale;
} OncillaDeviation;

// How much the visits of each move count in what a node passes on to its parents (KataGo's useNoisePruning and
// valueWeightExponent). With 0 and 0 each counts one.
typedef struct OncillaWeighing {
    // noisePruneUtilityScale, in the unit of the tree's values; not negative. 0: nothing is pruned.
    float prune_scale;
    // valueWeightExponent, in [0, 1]. 0: good moves are not favoured.
    float exponent;
    // What a utility of 1 is in the tree's values, in [0.000001, 1000000].
    float unit;
} OncillaWeighing;

// How the evaluator's values change, seen from the side to move at the root: contempt, another draw rate. With 1 and 0
// they stay as they are.
typedef struct OncillaWdlRescale {
    // The width of the distribution of outcomes is multiplied by this: below 1 there are more draws. Above 0.
    double ratio;
    // The mean grows by the square of the width times this.
    double diff;
    // WDLMaxS: a larger width is taken for this one. Not negative.
    double max_s;
} OncillaWdlRescale;

// Noise on the root's priors, when it is evaluated.
typedef struct OncillaDirichlet {
    // DirichletNoiseEpsilon: the noise's share of the new priors, in [0, 1]; 0 is no noise.
    float epsilon;
    // DirichletNoiseAlpha: the smaller, the fewer moves get most of the noise. Above 0.
    float alpha;
} OncillaDirichlet;

// How much a shorter win and a longer loss are worth (MovesLeft...). Where it is on, each number is in [-1000000,
// 1000000].
typedef struct OncillaMovesLeftUtility {
    // Not 0 where the evaluator knows of moves left.
    uint32_t on;
    // MovesLeftMaxEffect: bound of the bonus, in Q; not negative.
    float max_effect;
    // MovesLeftThreshold: |Q| of the parent from which on it counts.
    float threshold;
    // MovesLeftSlope: Q for each ply that the child is shorter or longer than the parent.
    float slope;
    // MovesLeftConstantFactor.
    float constant;
    // MovesLeftScaledFactor.
    float scaled;
    // MovesLeftQuadraticFactor.
    float quadratic;
} OncillaMovesLeftUtility;

// The final choice by a lower confidence bound, for oncilla_move_to_play.
typedef struct OncillaLcb {
    // Not 0: the largest bound decides. 0: the most visits.
    uint32_t on;
    // How many standard deviations below its mean a move is taken, in [0, 100].
    float stdevs;
    // The share of the most visits that a move must have, in [0, 1].
    float min_visit_share;
} OncillaLcb;

// Playing by chance, for oncilla_move_to_play (Temperature and Temp...).
typedef struct OncillaTemperature {
    // Of the first move; 0 always plays the best one.
    float start;
    // Moves in which it falls to 0; 0: it does not fall.
    uint32_t decay_moves;
    // Moves before it begins to fall.
    uint32_t decay_delay_moves;
    // The move, counted from 1, from which on `endgame` counts instead; 0: never.
    uint32_t cutoff_move;
    // From the cutoff on, and the least to which another one falls.
    float endgame;
    // Moves that lose more of the win percentage than this against the most visited one are left out, in hundredths,
    // in [0, 100].
    float value_cutoff;
    // Added to the visits, in [-1000, 1000].
    float visit_offset;
} OncillaTemperature;

// All parameters of a search; names, defaults and meaning are those of Lc0's options, or of KataGo's where Lc0 has
// none. Begin with oncilla_params_default.
typedef struct OncillaParams {
    // Exploration.
    struct OncillaCpuct cpuct;
    // Not 0: exploration at the root is cpuct_at_root. 0: it is that of all nodes.
    uint32_t root_has_own_cpuct;
    // Exploration at the root.
    struct OncillaCpuct cpuct_at_root;
    // Unvisited moves.
    struct OncillaFpu fpu;
    // Not 0: unvisited moves at the root are worth what fpu_at_root says. 0: what fpu says.
    uint32_t root_has_own_fpu;
    // Unvisited moves at the root.
    struct OncillaFpu fpu_at_root;
    // What unvisited moves are held against is the mean of the node only as far as the sum of the visited priors, to
    // this power, goes to 1; the rest is the node's own evaluation (KataGo's fpuParentWeightByVisitedPolicyPow). In
    // [0, 100]; 0: the mean alone.
    float fpu_parent_power;
    // How exploration follows the deviation of values.
    struct OncillaDeviation deviation;
    // What exploration is made of: ONCILLA_EXPLORED_VISITS or ONCILLA_EXPLORED_WEIGHTS.
    uint32_t explored;
    // When a visit ends at a position that other paths of a graph have visited: ONCILLA_CATCH_UP_VALUES or
    // ONCILLA_CATCH_UP_VISITS.
    uint32_t catch_up;
    // What the priors of the root's moves sum to, in [0, 362].
    float root_policy_sum;
    // How much visits count.
    struct OncillaWeighing weighing;
    // How values change.
    struct OncillaWdlRescale wdl_rescale;
    // Divides the logits before the softmax; above 0. 1 where the priors should stay as they come.
    float policy_temperature;
    // Noise on the root's priors, when it is evaluated. A root that oncilla_advance has kept gets none: oncilla_clear.
    struct OncillaDirichlet noise;
    // What a draw is worth to the side to move at the root, in [-1, 1].
    float draw_score;
    // Not 0: proven results are passed on to the parents.
    uint32_t sticky_endgames;
    // The moves-left utility.
    struct OncillaMovesLeftUtility moves_left;
    // What makes a root move the one to play.
    struct OncillaLcb lcb;
    // How much chance there is in that.
    struct OncillaTemperature temperature;
    // Seed of the noise, and with the ply of a choice by chance: equal seeds give equal searches. Give each move of a
    // game another one (oncilla_set_params): else every root of the game gets the same noise. (One that was kept gets
    // none, see `noise`.)
    uint64_t seed;
} OncillaParams;

// What a search has room for.
typedef struct OncillaCapacity {
    // Nodes, at least 1 and at most 2^29 - 1: 20 bytes each.
    uint32_t nodes;
    // Words of 4 bytes for the edges of all nodes, at most 2^30 - 1. A node with 30 legal moves takes 16 of them, 8
    // more once a child of it is visited, and some 6 for each visited child: 22 to 25 a node are enough for chess, 15
    // for Connect Four.
    uint32_t edge_words;
    // Not 0: a graph, where positions that are reached on several paths have one node, by the keys of the answers:
    // what OncillaAnswer.key must be. 20 bytes a node more.
    uint32_t graph;
} OncillaCapacity;

// A move of the root.
typedef struct OncillaRootEdge {
    // The move, or -1 before anybody visited it.
    int32_t mv;
    // Its place among the legal moves, or -1 once the move is known.
    int32_t index;
    // Visits that have come back.
    uint32_t visits;
    // Visits in flight.
    uint32_t in_flight;
    // The prior, in [0, 1].
    float prior;
    // Not 0 once a visit has come back: only then do wl, d and m say something.
    uint32_t has_value;
    // From the side that makes the move.
    float wl;
    // The probability of a draw.
    float d;
    // Plies left after the move.
    float m;
    // What is proven, from the side that makes the move: at least this (-1 a loss, 0 a draw, 1 a win) ...
    int32_t lower;
    // ... and at most this.
    int32_t upper;
} OncillaRootEdge;

// What a search knows of itself.
typedef struct OncillaStats {
    // Visits of the root, those of earlier moves included.
    uint32_t visits;
    // Visits in flight through the root.
    uint32_t in_flight;
    // Nodes in use.
    uint32_t nodes;
    // Words in use by edges.
    uint32_t edge_words;
    // How full the fuller of the two memories is, per mille (UCI's hashfull).
    uint32_t permille_full;
    // Visits of earlier moves that were taken back since oncilla_start_move: a draw by repetition that is none any
    // more.
    uint32_t taken_back;
    // Playouts since oncilla_start_move that are no visits of the root: they restored what was folded.
    uint32_t restored;
    // The root's value.
    float wl;
    // The probability of a draw.
    float d;
    // Plies left.
    float m;
    // What is proven of the root's position by all its moves: at least this (-1 a loss, 0 a draw, 1 a win) ...
    int32_t lower;
    // ... and at most this.
    int32_t upper;
} OncillaStats;

// How moves left are estimated: from the evaluator's plies where they are known, else from the pieces where these are
// known, else from the move number.
typedef struct OncillaMovesLeft {
    // Not 0: the evaluator's plies may be asked.
    uint32_t network;
    // Not 0: the number of pieces may be asked.
    uint32_t pieces;
    // mle-network: never fewer moves than this. From 1 to 1,000,000.
    double network_least;
    // mle-network: never more than so many times what mle-legacy says. From 1 to 1,000,000.
    double network_most;
    // mle-pieces: moves left with 32 pieces. From 1 to 1,000,000.
    double pieces_full;
    // mle-pieces: moves left with two. From 1 to 1,000,000.
    double pieces_bare;
    // mle-legacy: the move at which half of the games have ended. Above 0, at most 1,000,000.
    double midpoint;
    // mle-legacy: how sharply the estimate turns there. In [0.01, 1000].
    double steepness;
} OncillaMovesLeft;

// The parameters of `smooth`.
typedef struct OncillaSmooth {
    // First guess of the part of a tree that the next move starts with. In [0, 1).
    double init_tree_reuse;
    // The guess never goes above this. In [0, 1).
    double max_tree_reuse;
    // Average moves after which the guess has gone half of the way. Above 0.
    double tree_reuse_update_rate;
    // First guess of the nodes per second. Above 0.
    double init_nps;
    // Seconds of search after which the guess has gone half of the way. Above 0.
    double nps_update_rate;
    // First guess of the part of a budget that is used. Above 0.
    double init_timeuse;
    // The guess never goes below this. Above 0.
    double min_timeuse;
    // Average moves after which the guess has gone half of the way. Above 0.
    double timeuse_update_rate;
    // Part of the clock that one move may be given. In (0, 1].
    double max_move_budget;
    // A budget is at least this part of the average move's time. At least 0.
    double min_move_budget;
    // Part of the clock that only unsettled searches may use. In [0, 1).
    double reserve;
    // The most that such a search gets in addition, in budgets. At least 0.
    double max_extension;
    // How fast budgets are corrected for what moves took less, or more. In [0, 1].
    double pace_rate;
    // A fall of the best move's value that makes a search unsettled. At least 0.
    double value_drop;
    // A best move is new for this part of the search's time. At least 0.
    double settle_time;
    // How moves left are estimated.
    struct OncillaMovesLeft moves_left;
} OncillaSmooth;

// The parameters of `legacy`.
typedef struct OncillaLegacy {
    // Factor of every budget. In [0, 100].
    double slowmover;
    // As in OncillaMovesLeft.
    double midpoint;
    // As in OncillaMovesLeft.
    double steepness;
    // Part of the spared time that the next move may use at once. In [0, 1].
    double immediate_use;
    // What the first move gets in addition, as a part of its time. In [0, 100].
    double first_move_bonus;
    // The same for each half move that the game had before our first. In [0, 100].
    double book_ply_bonus;
} OncillaLegacy;

// The parameters of `simple`.
typedef struct OncillaSimple {
    // Part of the clock for a move at the start of the game, in percent. In (0, 100].
    double base_pct;
    // What each half move adds to it, in percent. In [0, 1].
    double ply_pct;
    // Increments used for each move. In [0, 100].
    double time_factor;
    // What the first move gets in addition, in percent of its time. In [0, 1000].
    double opening_bonus_pct;
} OncillaSimple;

// A time manager and its parameters; those of the other managers are not read. Begin with oncilla_time_params_default.
typedef struct OncillaTimeParams {
    // ONCILLA_TIME_SMOOTH and so on.
    uint32_t manager;
    // Of `smooth`.
    struct OncillaSmooth smooth;
    // Of `legacy`.
    struct OncillaLegacy legacy;
    // Of `alphazero`: part of the clock for each move, in percent. In [0, 100].
    double alphazero_time_pct;
    // Of `simple`.
    struct OncillaSimple simple;
} OncillaTimeParams;

// The clock and the board as they stand when the engine begins to think. All 0 but the first is a clock that knows
// nothing else. Times are in milliseconds; negative ones and those that are no numbers count as 0.
typedef struct OncillaClock {
    // Time left.
    double base_ms;
    // Time that a move adds.
    double increment_ms;
    // Time between our answer and the moment when the opponent's clock runs.
    double overhead_ms;
    // Moves until the next time control, this one included; 0: the rest of the game.
    uint32_t moves_to_go;
    // Half moves played since the start of the game.
    uint32_t ply;
    // Pieces on the board, kings and pawns among them; 0: not known, or a game that has none.
    uint32_t pieces;
    // Half moves until the end of the game, as the evaluator expects them; not above 0: not known.
    double network_plies;
} OncillaClock;

// What a move is given, in milliseconds from its start.
typedef struct OncillaBudget {
    // What the manager's formulas say. May be negative.
    double budget_ms;
    // When to stop.
    double limit_ms;
    // How much later to stop while the search is unsettled: oncilla_time_leader.
    double extension_ms;
    // Before this, only a move that is known to be the best ends a search.
    double floor_ms;
    // Not 0: there is no time to wait for a playout, if the tree has an answer.
    uint32_t in_hurry;
} OncillaBudget;

// The most visited move at the root.
typedef struct OncillaLeader {
    // Any number that stays with the move during a search.
    uint32_t mv;
    // Its wl for the side that plays it, and its d times the draw score where there is one; in [-1, 1].
    float q;
    // Not 0: the second most visited move has a higher value.
    uint32_t contested;
} OncillaLeader;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Bytes of memory that an event takes.
size_t oncilla_event_size(void);

// The longest path of an event. A playout that gets so deep ends there.
size_t oncilla_max_plies(void);

// Makes an event that no playout uses yet in `memory`. It may be used with any search, one after the other: see
// oncilla_search_end.
OncillaStatus oncilla_event_new(void *memory, size_t bytes, struct OncillaEvent **event);

// Takes `count` playouts from the root to leaves, counting a visit in flight along their edges; oncilla_event_met says
// what each met. ONCILLA_IN_FLIGHT or ONCILLA_OTHER_SEARCH: one of them is under way already.
OncillaStatus oncilla_gather(const struct OncillaSearch *search, struct OncillaEvent **events, size_t count);

// What the playout met when it was last gathered: ONCILLA_LEAF and so on. ONCILLA_STALE before that.
OncillaStatus oncilla_event_met(const struct OncillaEvent *event, OncillaMet *met);

// The moves from the root on: up to the leaf, or to its parent while the last one is not named. `count` gets how many
// that are, also with ONCILLA_BUFFER_TOO_SMALL.
OncillaStatus oncilla_event_moves(const struct OncillaEvent *event, uint16_t *moves, size_t room, size_t *count);

// `index` gets the last move's place among the legal moves of the position after oncilla_event_moves, if the tree does
// not know which move that is: say it by oncilla_event_name before the answer. Else -1.
OncillaStatus oncilla_event_unnamed(const struct OncillaEvent *event, int32_t *index);

// Says which move is the last one. Of an event that knows it already this changes nothing.
OncillaStatus oncilla_event_name(struct OncillaEvent *event, uint16_t mv);

// Gives a leaf its answer; oncilla_bring_back takes it to the root. `policy` has a logit for each of the `count` legal
// moves, in the order of the game's list, which must depend on the position alone; it is used up, also where the
// answer is refused: another try takes the logits anew. A game that has ended needs none. Where an answer is refused,
// but for ONCILLA_STALE and what is found before (pointers, a verdict that chooses nothing, a game that ended with no
// result), the event is cancelled.
OncillaStatus oncilla_settle(const struct OncillaSearch *search,
                             struct OncillaEvent *event,
                             const struct OncillaAnswer *answer,
                             float *policy,
                             size_t count);

// Brings events to the root that are settled, or met a node whose value was known. Where they share ancestors, each is
// written once. The pointers in the array are sorted; events that wait for something else are left as they are.
OncillaStatus oncilla_bring_back(const struct OncillaSearch *search, struct OncillaEvent **events, size_t count);

// oncilla_settle and oncilla_bring_back of one event.
OncillaStatus oncilla_answer(const struct OncillaSearch *search,
                             struct OncillaEvent *event,
                             const struct OncillaAnswer *answer,
                             float *policy,
                             size_t count);

// Takes back a playout that collided, or whose leaf can't be answered. Of an event that is not under way this changes
// nothing.
OncillaStatus oncilla_cancel(const struct OncillaSearch *search, struct OncillaEvent *event);

// Says who hears of a panic, in all threads; NULL: nobody. A panic is a fault of Oncilla's. After it nothing of what
// it was called with may be used.
void oncilla_on_panic(OncillaPanicCallback callback);

// Lc0's defaults, but for the moves-left utility, which is off.
OncillaStatus oncilla_params_default(struct OncillaParams *params);

// ONCILLA_OK if every parameter can be used; ONCILLA_BAD_NUMBER or ONCILLA_BAD_CHOICE if one can't.
OncillaStatus oncilla_params_check(const struct OncillaParams *params);

// Bytes of memory that a search of this capacity takes. ONCILLA_BAD_COUNT: without a node, or more than there can be.
OncillaStatus oncilla_search_size(const struct OncillaCapacity *capacity, size_t *bytes);

// Makes a search without a visit in `memory`, which is used until the search is used no more; what it held before does
// not matter. There is nothing to free. `params`: NULL for the defaults.
OncillaStatus oncilla_search_new(void *memory,
                                 size_t bytes,
                                 const struct OncillaCapacity *capacity,
                                 const struct OncillaParams *params,
                                 struct OncillaSearch **search);

// The search is used no more: from now on its handle is none, and its memory the host's again. An event that is under
// way in it is of no use any more: cancel it before, or make it anew with oncilla_event_new.
OncillaStatus oncilla_search_end(struct OncillaSearch *search);

// Changes the parameters. Another policy temperature counts for new nodes only. `draw_score` and `wdl_rescale` are
// those of the side to move at the root: whoever advances the root by one ply changes the signs of `draw_score` and
// `wdl_rescale.diff`.
OncillaStatus oncilla_set_params(struct OncillaSearch *search, const struct OncillaParams *params);

// Forgets the tree. Events in flight are answered by ONCILLA_STALE, and belong to this search until they are
// cancelled. Every root move may be searched.
OncillaStatus oncilla_clear(struct OncillaSearch *search);

// Begins to count anew, for the next move of the game.
OncillaStatus oncilla_start_move(struct OncillaSearch *search);

// The game went on by `count` moves from the root: the tree below them is kept, the rest is freed. `visits` (which may
// be NULL) gets the visits that the new root has already. Bring back or cancel what is in flight before: else the
// whole tree is forgotten. What oncilla_set_root_moves and oncilla_set_remaining_playouts said of the old root is
// forgotten, too.
OncillaStatus oncilla_advance(struct OncillaSearch *search, const uint16_t *moves, size_t count, uint32_t *visits);

// Makes room by folding subtrees of few visits into their parents' edges, which keep N and value. `freed` (which may
// be NULL) gets the number of nodes freed: 0 if nothing could be, so that the search can't go on before events in
// flight are back, if there are any. For when a gathered event meets ONCILLA_FULL; other events may be in flight.
OncillaStatus oncilla_recycle(struct OncillaSearch *search, size_t *freed);

// Restricts the search to some root moves (UCI's searchmoves), until oncilla_advance or oncilla_clear: `moves[i]`
// stands at `indices[i]` among the legal moves. A count of 0: all moves. At most 362. An index that the root has not
// is no move's: where all are such, none may be searched.
OncillaStatus oncilla_set_root_moves(struct OncillaSearch *search,
                                     const uint16_t *moves,
                                     const uint16_t *indices,
                                     size_t count);

// How many more playouts are expected at most, until oncilla_advance or oncilla_clear: root moves that can't become
// the best one in so many are left out. ONCILLA_NO_LIMIT searches all.
OncillaStatus oncilla_set_remaining_playouts(const struct OncillaSearch *search, uint32_t remaining);

// The best move by visits, proven results first; of moves that have been visited, for others have no name. After few
// playouts it may be one that is proven to lose while others were not tried yet: oncilla_edge_to_play knows those too.
// ONCILLA_NO_MOVE before one has been visited.
OncillaStatus oncilla_best_move(const struct OncillaSearch *search, uint16_t *mv);

// The move to play after `ply` half moves of the game: oncilla_best_move's, or another one where the temperature
// leaves it to chance, or the parameters ask for a lower bound. A move that nobody visited has no name, and gives way
// to oncilla_best_move's: oncilla_edge_to_play gives its place instead.
OncillaStatus oncilla_move_to_play(const struct OncillaSearch *search, uint32_t ply, uint16_t *mv);

// The root's move to play after `ply` half moves of the game, also where nobody visited it, as beside moves that are
// proven to lose: then `mv` is -1, and `index` is its place among the legal moves. ONCILLA_NO_MOVE before the first
// playout, and where the game has ended.
OncillaStatus oncilla_edge_to_play(const struct OncillaSearch *search, uint32_t ply, struct OncillaRootEdge *edge);

// The principal variation: the best move and what both sides would play after it, as far as nodes have visits and
// there is room for; at most oncilla_max_plies moves. `count` gets how many moves were written.
OncillaStatus oncilla_pv(const struct OncillaSearch *search, uint16_t *moves, size_t room, size_t *count);

// The moves of the root: those that were visited in the order of their first visits, then the others in the order of
// the game's list. `count` (which may be NULL) gets how many were written, and of more than `room` the first are. None
// is missing where other threads search meanwhile; each is as it was when it was looked at.
OncillaStatus oncilla_root_edges(const struct OncillaSearch *search,
                                 struct OncillaRootEdge *edges,
                                 size_t room,
                                 size_t *count);

// Counts of the tree, and what the root is worth.
OncillaStatus oncilla_stats(const struct OncillaSearch *search, struct OncillaStats *stats);

// What a status means, in English and without a full stop; of a number that is no status it says so. The text is
// there for ever.
const char *oncilla_status_text(int32_t status);

// The defaults of every manager, with `smooth` chosen.
OncillaStatus oncilla_time_params_default(struct OncillaTimeParams *params);

// Bytes of memory that a time manager takes.
size_t oncilla_time_size(void);

// Makes the time manager of a new game in `memory`. `params`: NULL for the defaults. ONCILLA_BAD_NUMBER: a parameter
// of the manager chosen is out of its range.
OncillaStatus oncilla_time_new(void *memory,
                               size_t bytes,
                               const struct OncillaTimeParams *params,
                               struct OncillaTime **time);

// A move starts, with `reused_nodes` in its tree: what it is given.
OncillaStatus oncilla_time_start(struct OncillaTime *time,
                                 const struct OncillaClock *clock,
                                 uint64_t reused_nodes,
                                 struct OncillaBudget *budget);

// The search has run for `elapsed_ms` since the move's start and has added `new_nodes`: as often as is convenient.
OncillaStatus oncilla_time_progress(struct OncillaTime *time, double elapsed_ms, uint64_t new_nodes);

// The best move after `elapsed_ms`. `go_on` becomes 1 if the search should go on beyond its budget, within the
// extension, else 0.
OncillaStatus oncilla_time_leader(struct OncillaTime *time,
                                  double elapsed_ms,
                                  const struct OncillaLeader *leader,
                                  uint32_t *go_on);

// The move is played, `used_ms` after its start; the search has added `new_nodes`.
OncillaStatus oncilla_time_end(struct OncillaTime *time, double used_ms, uint64_t new_nodes);

// The defaults of the moves-left estimator.
OncillaStatus oncilla_moves_left_default(struct OncillaMovesLeft *params);

// `moves` gets the moves that one side still has to play, this one included: from what the clock says of the ply, the
// pieces and the evaluator's plies. `params`: NULL for the defaults.
OncillaStatus oncilla_moves_left(const struct OncillaMovesLeft *params,
                                 const struct OncillaClock *clock,
                                 double *moves);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ONCILLA_H */
