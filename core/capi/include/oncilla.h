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
// - Parameters are finite numbers, and those without a range of their own lie within 1e12; others are ONCILLA_BAD_NUMBER.
//   What is switched off, or belongs to a time manager that was not chosen, is not looked at.


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

// The number of this header, which is another one for other declarations: compare it with oncilla_abi if header and
// archive come from different places.
#define ONCILLA_ABI 2

// `OncillaAnswer.verdict`: the game goes on.
#define ONCILLA_POSITION 0

// `OncillaAnswer.verdict`: the game ends here by the rules.
#define ONCILLA_ENDED 1

// `OncillaAnswer.verdict`: the result is known from an endgame tablebase.
#define ONCILLA_TABLEBASE 2

// `OncillaAnswer.verdict`: the second occurrence of a position that first occurred in the tree, taken for a draw; `m`
// is the length of the cycle in plies.
#define ONCILLA_TWO_FOLD 3

// `OncillaAnswer.verdict`: the game ends here with a score that makes it worth any number. It is final, but proves
// nothing.
#define ONCILLA_SCORED 4

// Plies that an event has room for, unless ONCILLA_PLIES in the environment of the library's build said otherwise.
#define ONCILLA_DEFAULT_PLIES 128

// Bytes that an event takes beside its path, at most; used by ONCILLA_EVENT_BYTES.
#define ONCILLA_EVENT_OVERHEAD 128

// Bytes that each ply of a path takes.
#define ONCILLA_PLY_BYTES 16

// Alignment that lent memory must have, in bytes; malloc's is at least that.
#define ONCILLA_ALIGN 8

// `OncillaFpu.kind`: an unvisited move is worth its parent's value minus value times the root of the visited priors'
// sum.
#define ONCILLA_FPU_REDUCTION 0

// `OncillaFpu.kind`: an unvisited move is worth this value.
#define ONCILLA_FPU_ABSOLUTE 1

// `OncillaParams.explored`: the number of visits.
#define ONCILLA_EXPLORED_VISITS 0

// `OncillaParams.explored`: the total weight of the visits. The moves left of a value are then 8 times the weight of a
// visit, and there is no moves-left utility (KataGo's useUncertainty). The verdict ONCILLA_TWO_FOLD is not for such a
// search, because it takes them for plies; use ONCILLA_SCORED.
#define ONCILLA_EXPLORED_WEIGHTS 1

// `OncillaParams.catch_up`: as long as the edge's value differs from the position's (Lc0's graph search).
#define ONCILLA_CATCH_UP_VALUES 0

// `OncillaParams.catch_up`: as long as the edge has fewer visits than the position (KataGo's graph search).
#define ONCILLA_CATCH_UP_VISITS 1

// The most legal moves that a position may have. (Go on a 19x19 board has 362.)
#define ONCILLA_MAX_EDGES 1023

// For oncilla_set_remaining_playouts: there is no limit.
#define ONCILLA_NO_LIMIT 4294967295

// Bytes that a search takes beside its nodes and edge words, at most; used by ONCILLA_SEARCH_BYTES. It takes about
// 2,500 bytes, unless the library is part of a Rust program in which each thread has a share of the memory.
#define ONCILLA_SEARCH_OVERHEAD 6144

// `OncillaTimeParams.manager`: every move's tree should hold the same number of nodes.
#define ONCILLA_TIME_SMOOTH 0

// `OncillaTimeParams.manager`: the time is shared out evenly over the moves left.
#define ONCILLA_TIME_LEGACY 1

// `OncillaTimeParams.manager`: every move gets a fixed part of the clock.
#define ONCILLA_TIME_ALPHAZERO 2

// `OncillaTimeParams.manager`: a move gets a part of the clock that grows with the game.
#define ONCILLA_TIME_SIMPLE 3

// Bytes that a time manager takes, at most.
#define ONCILLA_TIME_BYTES 1024

// The outcome of a call.
enum OncillaStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It did what it should.
    ONCILLA_OK = 0,
    // A pointer is NULL that must not be.
    ONCILLA_NULL_POINTER = 1,
    // A pointer is not aligned as its type requires, or lent memory not to ONCILLA_ALIGN.
    ONCILLA_MISALIGNED = 2,
    // The lent memory is smaller than the size that the function for it returns.
    ONCILLA_MEMORY_TOO_SMALL = 3,
    // The pointer does not lead to a handle of this type: it was never made, or its memory has been used for something
    // else.
    ONCILLA_NOT_A_HANDLE = 4,
    // A parameter is not a number, or out of its range.
    ONCILLA_BAD_NUMBER = 5,
    // A number that should choose one of several things chooses none.
    ONCILLA_BAD_CHOICE = 6,
    // A count or a capacity is 0, or too large.
    ONCILLA_BAD_COUNT = 7,
    // The room for output is smaller than what should go there.
    ONCILLA_BUFFER_TOO_SMALL = 8,
    // The same event is in one array twice.
    ONCILLA_SAME_EVENT = 9,
    // The event was gathered from another search, and is under way there, or was until its tree was forgotten: cancel
    // it there.
    ONCILLA_OTHER_SEARCH = 10,
    // The event does not wait for an answer, or not for this one; or the tree was cleared or advanced since it was
    // gathered.
    ONCILLA_STALE = 11,
    // A move has no name: an event's last one (call oncilla_event_name), or the one to play, which nobody has tried
    // (call oncilla_edge_to_play).
    ONCILLA_UNNAMED = 12,
    // The answer says that the game goes on, but came without a legal move.
    ONCILLA_NO_EDGES = 13,
    // The answer has more legal moves than a node can have: ONCILLA_MAX_EDGES.
    ONCILLA_TOO_MANY_EDGES = 14,
    // The memory has no room for the root's moves.
    ONCILLA_NO_ROOM = 15,
    // There is no such move: nothing was searched yet, or the game has ended.
    ONCILLA_NO_MOVE = 16,
    // oncilla_time_end or a similar function was called without oncilla_time_start.
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
    // A node that has not been evaluated: call oncilla_settle or oncilla_answer.
    ONCILLA_LEAF = 0,
    // A node whose value is known already: call oncilla_bring_back, for there is nothing to answer.
    ONCILLA_KNOWN = 1,
    // A node that another playout is evaluating: call oncilla_cancel for this one once the other's answer is in. Or a
    // move with 1,023 visits in flight, which is the most: then cancelling does nothing.
    ONCILLA_COLLISION = 2,
    // There is no room for another node: call oncilla_recycle, then gather again. If it freed 0 nodes, answer and
    // bring back the events in flight, and try again; with nothing in flight the search can't go on.
    ONCILLA_FULL = 3,
    // The game has ended at the root, no move may be searched there, or the root has 4,000,000,000 visits.
    ONCILLA_NO_MOVES = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum OncillaMet OncillaMet;
#else
typedef int32_t OncillaMet;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A playout under way: the path from the root to a leaf. It is in the host's memory, and is reused from playout to
// playout.
typedef struct OncillaEvent OncillaEvent;

// A search. It is in the host's memory.
typedef struct OncillaSearch OncillaSearch;

// The time manager of one player's clock in one game. It is in the host's memory.
typedef struct OncillaTime OncillaTime;

// What is known of a leaf, besides its policy.
typedef struct OncillaAnswer {
    // The position's key. A tree does not need it; a graph joins positions that have the same key, unless it is 0:
    // then it joins the position with no other one. Equal keys mean equal legal moves and equal results, both here and
    // after whatever is played from here on: if the moves that led here can forbid a move or end the game, mix a
    // digest of them into the key, such as the moves since the last one that can't be taken back and the positions
    // that they repeated. Otherwise what is proven on one path, such as a draw by repetition, is taken for proven on
    // the others. Besides, no line of moves may contain the same key twice: if a game can return to an earlier
    // position, such a digest tells the two occurrences apart; if neither results nor legal moves depend on earlier
    // moves, the number of plies since the start of the game does. Otherwise the graph has a cycle: values and proofs
    // go round in it, its nodes are never freed, and two threads may wait for each other for ever. A leaf whose key is
    // on its own path is not joined; a cycle that two paths make together is not seen.
    uint64_t key;
    // ONCILLA_POSITION, ONCILLA_ENDED, ONCILLA_TABLEBASE, ONCILLA_TWO_FOLD or ONCILLA_SCORED.
    uint32_t verdict;
    // The value to the side to move: a win's probability minus a loss's, in [-1, 1]. With ONCILLA_ENDED and
    // ONCILLA_TABLEBASE it has to be -1, 0 or 1, with ONCILLA_TWO_FOLD 0: anything else is ONCILLA_BAD_NUMBER. With
    // ONCILLA_POSITION and ONCILLA_SCORED any number will do, for this field and for d and m: one that is out of its
    // range counts as the nearest one in it, and one that is not a number as 0.
    float wl;
    // The probability of a draw, in [0, 1]. With the other three verdicts it follows from the result.
    float d;
    // Plies until the end of the game, at least 0.
    float m;
} OncillaAnswer;

// Is told of a panic: the file's name (not ended by a zero byte), its length, and the line. When it returns, the
// program aborts.
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
    // The number that `kind` refers to, in [-1000000, 1000000].
    float value;
} OncillaFpu;

// How exploration follows the values below a node (KataGo's cpuctUtilityStdev...): exploration is multiplied by 1 +
// scale * (deviation / usual - 1).
typedef struct OncillaDeviation {
    // Not 0 if exploration follows them.
    uint32_t on;
    // The deviation that leaves exploration unchanged, in [0.000001, 1000000].
    float usual;
    // How many visits the usual deviation counts as, in [0, 1000000].
    float weight;
    // How far exploration follows the deviation, in [0, 1].
    float scale;
} OncillaDeviation;

// How much the visits of each move count in what a node passes on to its parents (KataGo's useNoisePruning and
// valueWeightExponent). If prune_scale and exponent are 0, each visit counts one.
typedef struct OncillaWeighing {
    // noisePruneUtilityScale, in the unit of the tree's values; not negative. 0: nothing is pruned.
    float prune_scale;
    // valueWeightExponent, in [0, 1]. 0: good moves are not favoured.
    float exponent;
    // How much a utility of 1 is in the tree's values, in [0.000001, 1000000].
    float unit;
} OncillaWeighing;

// How the evaluator's values change, seen from the side to move at the root: by contempt, or by another draw rate.
// With a ratio of 1 and a diff of 0 they stay as they are.
typedef struct OncillaWdlRescale {
    // The width of the distribution of outcomes is multiplied by this: below 1 there are more draws. Above 0.
    double ratio;
    // The mean grows by the square of the width times this: any finite number.
    double diff;
    // WDLMaxS: a larger width is reduced to this one. Not negative.
    double max_s;
} OncillaWdlRescale;

// Noise on the root's priors, when it is evaluated.
typedef struct OncillaDirichlet {
    // DirichletNoiseEpsilon: the noise's share of the new priors, in [0, 1]; 0 means no noise.
    float epsilon;
    // DirichletNoiseAlpha: the smaller it is, the fewer moves get most of the noise. Above 0.
    float alpha;
} OncillaDirichlet;

// How much a shorter win and a longer loss are worth (MovesLeft...). If it is on, each number has to be in [-1000000,
// 1000000].
typedef struct OncillaMovesLeftUtility {
    // Not 0 if the evaluator estimates moves left.
    uint32_t on;
    // MovesLeftMaxEffect: limit of the bonus, in units of Q; not negative.
    float max_effect;
    // MovesLeftThreshold: the |Q| of the parent from which on the bonus is given.
    float threshold;
    // MovesLeftSlope: Q for each ply by which the child's game is shorter or longer than the parent's.
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
    // Not 0: the largest bound decides. 0: the most visits decide.
    uint32_t on;
    // How many standard deviations below its mean a move's bound is, in [0, 100].
    float stdevs;
    // How many visits a move must have, as a share of the most visited move's, in [0, 1].
    float min_visit_share;
} OncillaLcb;

// Playing by chance, for oncilla_move_to_play (Temperature and Temp...).
typedef struct OncillaTemperature {
    // The temperature at the first move; at 0 the best move is always played.
    float start;
    // Over how many moves the temperature falls to 0; 0: it does not fall.
    uint32_t decay_moves;
    // How many moves are played before it begins to fall.
    uint32_t decay_delay_moves;
    // The move, counted from 1, from which on `endgame` is used instead; 0: never.
    uint32_t cutoff_move;
    // The temperature from the cutoff on, and the least to which a decaying one falls.
    float endgame;
    // Moves whose winning chances are lower than the most visited move's by more than this are left out, in percent,
    // in [0, 100].
    float value_cutoff;
    // Added to each move's visits, in [-1000, 1000].
    float visit_offset;
} OncillaTemperature;

// All parameters of a search; names, defaults and meaning are those of Lc0's options, or of KataGo's where Lc0 has
// none. Begin with oncilla_params_default.
typedef struct OncillaParams {
    // Exploration.
    struct OncillaCpuct cpuct;
    // Not 0: exploration at the root is cpuct_at_root. 0: it is cpuct, as at all nodes.
    uint32_t root_has_own_cpuct;
    // Exploration at the root.
    struct OncillaCpuct cpuct_at_root;
    // The value of unvisited moves.
    struct OncillaFpu fpu;
    // Not 0: unvisited moves at the root are worth what fpu_at_root says. 0: they are worth what fpu says.
    uint32_t root_has_own_fpu;
    // The value of unvisited moves at the root.
    struct OncillaFpu fpu_at_root;
    // From which value that of an unvisited move is derived. The mean of the node gets as its share the sum of the
    // visited priors to this power; the node's own evaluation gets the rest (KataGo's
    // fpuParentWeightByVisitedPolicyPow). In [0, 100]; 0: the mean alone.
    float fpu_parent_power;
    // How exploration follows the deviation of values.
    struct OncillaDeviation deviation;
    // What exploration counts: ONCILLA_EXPLORED_VISITS or ONCILLA_EXPLORED_WEIGHTS.
    uint32_t explored;
    // When a visit ends at a position that other paths of a graph have visited: ONCILLA_CATCH_UP_VALUES or
    // ONCILLA_CATCH_UP_VISITS.
    uint32_t catch_up;
    // The sum of the priors of the root's moves, in [0, 362].
    float root_policy_sum;
    // How much the visits of each move count.
    struct OncillaWeighing weighing;
    // How the evaluator's values change.
    struct OncillaWdlRescale wdl_rescale;
    // Divides the logits before the softmax; above 0. Use 1 if the priors should stay as they come.
    float policy_temperature;
    // Noise on the root's priors, when it is evaluated. A root that oncilla_advance has kept gets none: call
    // oncilla_clear for that.
    struct OncillaDirichlet noise;
    // What a draw is worth to the side to move at the root, in [-1, 1].
    float draw_score;
    // Not 0: proven results are passed on to the parents.
    uint32_t sticky_endgames;
    // The moves-left utility.
    struct OncillaMovesLeftUtility moves_left;
    // How the move to play is chosen among the root's moves.
    struct OncillaLcb lcb;
    // How much chance there is in that choice.
    struct OncillaTemperature temperature;
    // Seed of the noise, and, together with the ply, of a choice by chance: equal seeds give equal searches. Set
    // another seed for each move of a game (oncilla_set_params): otherwise every root of the game gets the same noise.
    // (A root that was kept gets none, see `noise`.)
    uint64_t seed;
} OncillaParams;

// What a search has room for.
typedef struct OncillaCapacity {
    // How many nodes, at least 1 and at most 2^29 - 1. A node takes 20 bytes.
    uint32_t nodes;
    // How many words of 4 bytes for the edges of all nodes, at most 2^30 - 1. A node with 30 legal moves takes 16 of
    // them, 8 more once a child of it is visited, and about 6 for each visited child: 22 to 25 for each node are
    // enough for chess, 15 for Connect Four.
    uint32_t edge_words;
    // Not 0: a graph, in which a position that is reached on several paths has one node, by the keys of the answers:
    // see OncillaAnswer.key for what they must be. It takes 20 bytes more for each node.
    uint32_t graph;
} OncillaCapacity;

// A move of the root.
typedef struct OncillaRootEdge {
    // The move, or -1 if it is unvisited.
    int32_t mv;
    // The move's index among the legal moves, or -1 once the move is known.
    int32_t index;
    // Visits that have come back.
    uint32_t visits;
    // Visits in flight.
    uint32_t in_flight;
    // The prior, in [0, 1].
    float prior;
    // Not 0 once a visit has come back: only then wl, d and m mean something.
    uint32_t has_value;
    // A win's probability minus a loss's, to the side that makes the move.
    float wl;
    // The probability of a draw.
    float d;
    // Plies left after the move.
    float m;
    // What is proven, for the side that makes the move: at least this (-1 a loss, 0 a draw, 1 a win) ...
    int32_t lower;
    // ... and at most this.
    int32_t upper;
} OncillaRootEdge;

// What a search reports about itself.
typedef struct OncillaStats {
    // Visits of the root, including those from earlier moves of the game.
    uint32_t visits;
    // Visits in flight through the root.
    uint32_t in_flight;
    // How many nodes are in use.
    uint32_t nodes;
    // How many words edges use.
    uint32_t edge_words;
    // How full the fuller of the two memories is, per mille (UCI's hashfull).
    uint32_t permille_full;
    // Visits from earlier moves of the game that were taken back since oncilla_start_move, because a draw by
    // repetition no longer was one.
    uint32_t taken_back;
    // Playouts since oncilla_start_move that did not count as visits of the root: they restored what was folded.
    uint32_t restored;
    // The root's value: a win's probability minus a loss's, to the side to move.
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

// How moves left are estimated: from the evaluator's plies if they are known, else from the number of pieces if it is
// known, else from the move number.
typedef struct OncillaMovesLeft {
    // Not 0: the evaluator's plies may be used.
    uint32_t network;
    // Not 0: the number of pieces may be used.
    uint32_t pieces;
    // mle-network: the estimate is never less than this. From 1 to 1,000,000.
    double network_least;
    // mle-network: the estimate is never more than this many times that of mle-legacy. From 1 to 1,000,000.
    double network_most;
    // mle-pieces: moves left with all 32 pieces. From 1 to 1,000,000.
    double pieces_full;
    // mle-pieces: moves left with only the two kings. From 1 to 1,000,000.
    double pieces_bare;
    // mle-legacy: the move at which half of the games have ended. Above 0, at most 1,000,000.
    double midpoint;
    // mle-legacy: how sharply the estimate turns at the midpoint. In [0.01, 1000].
    double steepness;
} OncillaMovesLeft;

// The parameters of `smooth`.
typedef struct OncillaSmooth {
    // First guess of the part of a tree that the next move starts with. In [0, 1).
    double init_tree_reuse;
    // The guess of the tree reuse never goes above this. In [0, 1).
    double max_tree_reuse;
    // After this many average moves, the guess of the tree reuse has gone half of the way. Above 0.
    double tree_reuse_update_rate;
    // First guess of the nodes per second. Above 0.
    double init_nps;
    // After this many seconds of search, the guess of the nodes per second has gone half of the way. Above 0.
    double nps_update_rate;
    // First guess of the part of a budget that is used. Above 0.
    double init_timeuse;
    // The guess of the time use never goes below this. Above 0.
    double min_timeuse;
    // After this many average moves, the guess of the time use has gone half of the way. Above 0.
    double timeuse_update_rate;
    // The part of the clock that one move may be given at most. In (0, 1].
    double max_move_budget;
    // A budget is at least this part of the average move's time. At least 0.
    double min_move_budget;
    // The part of the clock that only unsettled searches may use. In [0, 1).
    double reserve;
    // The most that an unsettled search gets in addition, as a multiple of its budget. At least 0.
    double max_extension;
    // How fast budgets are corrected if moves took less, or more, than an average move's time. In [0, 1].
    double pace_rate;
    // A search is unsettled if the best move's value has fallen by this much. At least 0.
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
    // The part of the spared time that the next move may use at once. In [0, 1].
    double immediate_use;
    // What the first move gets in addition, as a part of its time. In [0, 100].
    double first_move_bonus;
    // What the first move gets in addition, in the same way, for each half move that was played before it. In [0,
    // 100].
    double book_ply_bonus;
} OncillaLegacy;

// The parameters of `simple`.
typedef struct OncillaSimple {
    // Part of the clock for a move at the start of the game, in percent. In (0, 100].
    double base_pct;
    // What each half move adds to base_pct, in percent. In [0, 1].
    double ply_pct;
    // How many increments are used for each move. In [0, 100].
    double time_factor;
    // What the first move gets in addition, in percent of its time. In [0, 1000].
    double opening_bonus_pct;
} OncillaSimple;

// A time manager and its parameters; those of the other managers are ignored. Begin with oncilla_time_params_default.
typedef struct OncillaTimeParams {
    // ONCILLA_TIME_SMOOTH and so on.
    uint32_t manager;
    // The parameters of `smooth`.
    struct OncillaSmooth smooth;
    // The parameters of `legacy`.
    struct OncillaLegacy legacy;
    // The parameter of `alphazero`: the part of the clock for each move, in percent. In [0, 100].
    double alphazero_time_pct;
    // The parameters of `simple`.
    struct OncillaSimple simple;
} OncillaTimeParams;

// The clock and the board as they stand when the engine begins to think. All fields but the first may be 0: then
// nothing but the time left is known. Times are in milliseconds; negative ones, and those that are not numbers, count
// as 0.
typedef struct OncillaClock {
    // Time left.
    double base_ms;
    // Time that a move adds to the clock.
    double increment_ms;
    // Time between our answer and the moment when the opponent's clock starts to run.
    double overhead_ms;
    // Moves until the next time control, this one included; 0: the rest of the game.
    uint32_t moves_to_go;
    // Half moves played since the start of the game.
    uint32_t ply;
    // Pieces on the board, kings and pawns among them; 0: not known, or the game has no pieces.
    uint32_t pieces;
    // Half moves until the end of the game, as the evaluator expects them; not above 0: not known.
    double network_plies;
} OncillaClock;

// What a move is given, in milliseconds from its start.
typedef struct OncillaBudget {
    // What the manager's formulas give. May be negative.
    double budget_ms;
    // When to stop.
    double limit_ms;
    // How much later to stop while the search is unsettled: see oncilla_time_leader.
    double extension_ms;
    // Before this time, only a move that is known to be the best ends a search.
    double floor_ms;
    // Not 0: there is no time to wait for a playout, provided that the tree has an answer.
    uint32_t in_hurry;
} OncillaBudget;

// The most visited move at the root.
typedef struct OncillaLeader {
    // Any number that identifies the move during a search.
    uint32_t mv;
    // The move's wl to the side that plays it, plus its d times the draw score if there is one; in [-1, 1].
    float q;
    // Not 0: the second most visited move has a higher value.
    uint32_t contested;
} OncillaLeader;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The ONCILLA_ABI of the header that goes with this archive. If the program's is another one, call nothing else.
uint32_t oncilla_abi(void);

// How many bytes of memory an event takes.
size_t oncilla_event_size(void);

// The longest path of an event, in plies. A playout that gets so deep ends there.
size_t oncilla_max_plies(void);

// Makes an event in `memory`, which no playout uses yet. It may be used with one search after the other: see
// oncilla_search_end.
OncillaStatus oncilla_event_new(void *memory, size_t bytes, struct OncillaEvent **event);

// Takes `count` playouts from the root to leaves, counting a visit in flight along their edges; oncilla_event_met says
// what each met. Returns ONCILLA_IN_FLIGHT or ONCILLA_OTHER_SEARCH if one of the events is under way already.
OncillaStatus oncilla_gather(const struct OncillaSearch *search, struct OncillaEvent **events, size_t count);

// `met` gets what the playout met when it was last gathered: ONCILLA_LEAF and so on. Returns ONCILLA_STALE if the
// event was not gathered yet.
OncillaStatus oncilla_event_met(const struct OncillaEvent *event, OncillaMet *met);

// `moves` gets the moves from the root to the leaf, or to the leaf's parent while the last move is not named. `count`
// gets the number of these moves, also with ONCILLA_BUFFER_TOO_SMALL.
OncillaStatus oncilla_event_moves(const struct OncillaEvent *event, uint16_t *moves, size_t room, size_t *count);

// `index` gets the last move's index among the legal moves of the position after oncilla_event_moves, if the tree does
// not know which move that is: then call oncilla_event_name before the answer. Otherwise `index` gets -1.
OncillaStatus oncilla_event_unnamed(const struct OncillaEvent *event, int32_t *index);

// Names the last move of the event's path. If the event knows that move already, this changes nothing.
OncillaStatus oncilla_event_name(struct OncillaEvent *event, uint16_t mv);

// Gives a leaf its answer; oncilla_bring_back then takes it to the root. `policy` has a logit for each of the `count`
// legal moves, in the order of the game's list, which must depend on the position alone. The array is overwritten,
// even if the answer is refused: for another try, fill in the logits again. A game that has ended needs no logits. If
// an answer is refused, the event is cancelled, except with ONCILLA_STALE and with errors that are found earlier (in
// pointers, a verdict that is none of the five, a game that ended without a result).
OncillaStatus oncilla_settle(const struct OncillaSearch *search,
                             struct OncillaEvent *event,
                             const struct OncillaAnswer *answer,
                             float *policy,
                             size_t count);

// Settles a leaf whose position a graph has already, so that the position need not be evaluated: `joined` gets 1, and
// the event waits for oncilla_bring_back. `key` is the position's OncillaAnswer.key, and `count` the number of its
// legal moves.
//
// `joined` gets 0 if the graph has no such node, or if the leaf can't be joined to it (the node is on the leaf's own
// path, or the leaf is the root); in a tree always. Then the event waits for its answer as before. With
// ONCILLA_UNNAMED the event is cancelled. Do not ask about a game that has ended: the graph does not join these.
OncillaStatus oncilla_settle_transposition(const struct OncillaSearch *search,
                                           struct OncillaEvent *event,
                                           uint64_t key,
                                           size_t count,
                                           uint32_t *joined);

// Brings events to the root that are settled, or that met a node whose value was known. If they share ancestors, these
// are written for all of them together. The pointers in the array are reordered; events that wait for something else
// are left as they are.
OncillaStatus oncilla_bring_back(const struct OncillaSearch *search, struct OncillaEvent **events, size_t count);

// Does the work of oncilla_settle and oncilla_bring_back for one event.
OncillaStatus oncilla_answer(const struct OncillaSearch *search,
                             struct OncillaEvent *event,
                             const struct OncillaAnswer *answer,
                             float *policy,
                             size_t count);

// Takes back a playout that collided, or whose leaf can't be answered. One that was settled is brought back instead,
// for its leaf has counted the visit. If the event is not under way, this changes nothing.
OncillaStatus oncilla_cancel(const struct OncillaSearch *search, struct OncillaEvent *event);

// Sets the function that is told of a panic in any thread; NULL for none. A panic is a fault of Oncilla's. After it,
// nothing may be used that the function which panicked was called with. An archive that was built without the feature
// `panic-handler` has a panic handler of the program's own, which calls no function that was set here.
void oncilla_on_panic(OncillaPanicCallback callback);

// `params` gets Lc0's defaults, except that the moves-left utility is off.
OncillaStatus oncilla_params_default(struct OncillaParams *params);

// Returns ONCILLA_OK if every parameter can be used, ONCILLA_BAD_NUMBER or ONCILLA_BAD_CHOICE if one can't.
OncillaStatus oncilla_params_check(const struct OncillaParams *params);

// `bytes` gets how many bytes of memory a search of this capacity takes. Returns ONCILLA_BAD_COUNT if the capacity has
// no node, or more than there can be.
OncillaStatus oncilla_search_size(const struct OncillaCapacity *capacity, size_t *bytes);

// Makes a search without a visit in `memory`, which it occupies as long as it is used; what the memory held before
// does not matter. There is nothing to free. `params` may be NULL, for the defaults.
OncillaStatus oncilla_search_new(void *memory,
                                 size_t bytes,
                                 const struct OncillaCapacity *capacity,
                                 const struct OncillaParams *params,
                                 struct OncillaSearch **search);

// Ends the use of a search: its handle is no longer valid, and its memory belongs to the host again. An event that is
// under way in it is of no use any more: cancel it before, or make it anew with oncilla_event_new.
OncillaStatus oncilla_search_end(struct OncillaSearch *search);

// Changes the parameters. A new policy temperature affects new nodes only. `draw_score` and `wdl_rescale` are those of
// the side to move at the root: a host that advances the root by one ply changes the signs of `draw_score` and
// `wdl_rescale.diff`.
OncillaStatus oncilla_set_params(struct OncillaSearch *search, const struct OncillaParams *params);

// Forgets the tree. Events in flight count for nothing any more: to settle or answer one is ONCILLA_STALE, and
// oncilla_bring_back drops those that were settled, or needed no answer, and returns ONCILLA_OK. The others belong to
// this search until they are cancelled. Every root move may be searched again.
OncillaStatus oncilla_clear(struct OncillaSearch *search);

// Resets the counts, for the next move of the game.
OncillaStatus oncilla_start_move(struct OncillaSearch *search);

// Makes the position after `count` moves from the root the new root, because the game went on by them: the tree below
// it is kept, the rest is freed. `visits` (which may be NULL) gets the number of visits that the new root has already.
// Bring back or cancel the events in flight first: otherwise the whole tree is forgotten. What oncilla_set_root_moves
// and oncilla_set_remaining_playouts said of the old root is forgotten, too.
OncillaStatus oncilla_advance(struct OncillaSearch *search, const uint16_t *moves, size_t count, uint32_t *visits);

// Makes room by folding subtrees of few visits into their parents' edges, which keep N and value. `freed` (which may
// be NULL) gets the number of nodes freed: 0 if nothing could be, so that the search can't go on before events in
// flight are back, if there are any; 1 also if none was freed, but the search can go on. Call it when a gathered event meets ONCILLA_FULL; other events may be in flight.
OncillaStatus oncilla_recycle(struct OncillaSearch *search,
                              size_t *freed);

// Restricts the search to some root moves (UCI's searchmoves), until oncilla_advance or oncilla_clear: `indices[i]` is
// the index of `moves[i]` among the legal moves. A `count` of 0 allows all moves; it may be at most 362. An index that
// the root does not have allows no move: if all are such, none may be searched.
OncillaStatus oncilla_set_root_moves(struct OncillaSearch *search,
                                     const uint16_t *moves,
                                     const uint16_t *indices,
                                     size_t count);

// Says how many more playouts are expected at most, until oncilla_advance or oncilla_clear: root moves that can't
// become the best one in that many are left out. ONCILLA_NO_LIMIT searches all moves.
OncillaStatus oncilla_set_remaining_playouts(const struct OncillaSearch *search, uint32_t remaining);

// `mv` gets the best move by visits, proven results first, among the moves that have been visited: others have no
// name. After few playouts it may be a move that is proven to lose while others were not tried yet:
// oncilla_edge_to_play takes those into account, too. Returns ONCILLA_NO_MOVE before a move has been visited.
OncillaStatus oncilla_best_move(const struct OncillaSearch *search, uint16_t *mv);

// `mv` gets the move to play after `ply` half moves of the game: that of oncilla_best_move, or another one if the
// temperature leaves the choice to chance, or if the parameters ask for a lower bound. An unvisited move has no name:
// if it is the one to play, because the visited moves are proven to lose or because chance has chosen it, the function
// returns ONCILLA_UNNAMED, and oncilla_edge_to_play has the move's index. Returns ONCILLA_NO_MOVE before a move has
// been visited.
OncillaStatus oncilla_move_to_play(const struct OncillaSearch *search, uint32_t ply, uint16_t *mv);

// `edge` gets the root's move to play after `ply` half moves of the game, even if it is unvisited, as may happen when
// the visited moves are proven to lose: then its `mv` is -1, and its `index` is its index among the legal moves.
// Returns ONCILLA_NO_MOVE before the first playout, and if the game has ended.
OncillaStatus oncilla_edge_to_play(const struct OncillaSearch *search, uint32_t ply, struct OncillaRootEdge *edge);

// `moves` gets the principal variation: the best move and what both sides would play after it, as far as nodes have
// visits and there is room; at most oncilla_max_plies moves. `count` gets how many moves were written.
OncillaStatus oncilla_pv(const struct OncillaSearch *search, uint16_t *moves, size_t room, size_t *count);

// `edges` gets the moves of the root: those that were visited in the order of their first visits, then the others in
// the order of the game's list. `count` (which may be NULL) gets how many were written; if there are more than `room`,
// the first ones are. So a `count` as large as `room` may not be all: ONCILLA_MAX_EDGES is room for any root. None is
// missing even if other threads search meanwhile; each is as it was when it was looked at.
OncillaStatus oncilla_root_edges(const struct OncillaSearch *search,
                                 struct OncillaRootEdge *edges,
                                 size_t room,
                                 size_t *count);

// `stats` gets counts of the tree, and the root's value.
OncillaStatus oncilla_stats(const struct OncillaSearch *search, struct OncillaStats *stats);

// What a status means, in English and without a full stop; for a number that is not a status the text says so. The
// text stays valid for ever.
const char *oncilla_status_text(int32_t status);

// `params` gets the defaults of every manager, with `smooth` chosen.
OncillaStatus oncilla_time_params_default(struct OncillaTimeParams *params);

// How many bytes of memory a time manager takes.
size_t oncilla_time_size(void);

// Makes the time manager of a new game in `memory`. `params` may be NULL, for the defaults. Returns ONCILLA_BAD_NUMBER
// if a parameter of the chosen manager is out of its range.
OncillaStatus oncilla_time_new(void *memory,
                               size_t bytes,
                               const struct OncillaTimeParams *params,
                               struct OncillaTime **time);

// Starts a move; `budget` gets what the move is given. `reused_visits` are those that its root has already, from earlier
// moves of the game: `visits` of oncilla_stats.
OncillaStatus oncilla_time_start(struct OncillaTime *time,
                                 const struct OncillaClock *clock,
                                 uint64_t reused_visits,
                                 struct OncillaBudget *budget);

// Reports that the search has run for `elapsed_ms` since the move's start and has done `new_playouts`: those that were
// brought back, not nodes of memory, of which a full tree gets no more. Call it as often as is convenient.
OncillaStatus oncilla_time_progress(struct OncillaTime *time, double elapsed_ms, uint64_t new_playouts);

// Reports the best move after `elapsed_ms`. `go_on` becomes 1 if the search should go on beyond its budget, within the
// extension; otherwise 0.
OncillaStatus oncilla_time_leader(struct OncillaTime *time,
                                  double elapsed_ms,
                                  const struct OncillaLeader *leader,
                                  uint32_t *go_on);

// Ends the move, `used_ms` after its start; the search has done `new_playouts`, counted as by oncilla_time_progress.
OncillaStatus oncilla_time_end(struct OncillaTime *time, double used_ms, uint64_t new_playouts);

// `params` gets the defaults of the moves-left estimator.
OncillaStatus oncilla_moves_left_default(struct OncillaMovesLeft *params);

// `moves` gets how many moves one side still has to play, this one included. The estimate uses the ply, the pieces and
// the evaluator's plies in `clock`. `params` may be NULL, for the defaults.
OncillaStatus oncilla_moves_left(const struct OncillaMovesLeft *params,
                                 const struct OncillaClock *clock,
                                 double *moves);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ONCILLA_H */
