// Connect Four from C++: a graph that two threads search at once, eight playouts at a time, for as long as a time manager says;
// then the move, its value and the line that both sides would play.
//
//     core/capi/install ~/.local
//     c++ -std=c++17 connect_four.cpp $(PKG_CONFIG_PATH=~/.local/lib/pkgconfig pkg-config --cflags --libs oncilla) -pthread && ./a.out
#include <oncilla.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <vector>

#include "connect_four.h"

namespace {

constexpr std::size_t batch = 8;
constexpr OncillaCapacity capacity{20000, 400000, 1};

void must(OncillaStatus status) {
    if (status != ONCILLA_OK) throw std::runtime_error(oncilla_status_text(status));
}

// Memory that is lent, as operator new aligns it.
using Memory = std::vector<std::max_align_t>;

Memory memory(std::size_t bytes) { return Memory((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)); }

// The search, and a lock that keeps its users apart where it is not shared: recycling and advancing are done alone.
class Search {
  public:
    Search() {
        std::size_t bytes;
        must(oncilla_search_size(&capacity, &bytes));
        memory_ = memory(bytes);
        OncillaParams params;
        must(oncilla_params_default(&params));
        params.policy_temperature = 1;
        must(oncilla_search_new(memory_.data(), bytes, &capacity, &params, &search_));
    }

    template <typename Run> auto shared(Run run) const {
        std::shared_lock lock(mutex_);
        return run(static_cast<const OncillaSearch *>(search_));
    }

    template <typename Run> auto alone(Run run) {
        std::unique_lock lock(mutex_);
        return run(search_);
    }

  private:
    Memory memory_;
    OncillaSearch *search_ = nullptr;
    mutable std::shared_mutex mutex_;
};

// The playouts that one thread has in flight.
class Events {
  public:
    Events() {
        for (std::size_t i = 0; i < batch; i++) {
            memories_.push_back(memory(oncilla_event_size()));
            must(oncilla_event_new(memories_.back().data(), oncilla_event_size(), &events_[i]));
        }
    }

    OncillaEvent **data() { return events_.data(); }
    auto begin() { return events_.begin(); }
    auto end() { return events_.end(); }

  private:
    std::vector<Memory> memories_;
    std::array<OncillaEvent *, batch> events_{};
};

void settle(const OncillaSearch *search, OncillaEvent *event, Board board) {
    std::array<uint16_t, CELLS> line;
    std::array<uint16_t, COLUMNS> moves;
    std::size_t plies;
    must(oncilla_event_moves(event, line.data(), line.size(), &plies));
    for (std::size_t i = 0; i < plies; i++) board = board_play(board, line[i]);
    int32_t unnamed;
    must(oncilla_event_unnamed(event, &unnamed));
    if (unnamed >= 0) {
        board_moves(board, moves.data());
        must(oncilla_event_name(event, moves[unnamed]));
        board = board_play(board, moves[unnamed]);
    }
    std::size_t count = board_moves(board, moves.data());
    std::array<float, COLUMNS> policy{};
    bool lost = board_is_lost(board), over = lost || count == 0;
    OncillaAnswer answer{};
    answer.key = board_key(board);
    answer.verdict = over ? ONCILLA_ENDED : ONCILLA_POSITION;
    answer.wl = lost ? -1.0f : over ? 0.0f : board_estimate(board);
    answer.d = over && !lost ? 1.0f : 0.0f;
    must(oncilla_settle(search, event, &answer, policy.data(), over ? 0 : count));
}

// One batch: down, answers, up. Gives back how many visits came of it, and whether room is needed.
std::size_t playouts(const OncillaSearch *search, Events &events, Board board, bool &full) {
    std::size_t visits = 0;
    must(oncilla_gather(search, events.data(), batch));
    for (OncillaEvent *event : events) {
        OncillaMet met;
        must(oncilla_event_met(event, &met));
        if (met == ONCILLA_LEAF) settle(search, event, board);
        visits += met == ONCILLA_LEAF || met == ONCILLA_KNOWN;
        full |= met == ONCILLA_FULL;
    }
    must(oncilla_bring_back(search, events.data(), batch));
    // What collided with another playout is taken back now that answers are in.
    for (OncillaEvent *event : events) must(oncilla_cancel(search, event));
    return visits;
}

using Clock = std::chrono::steady_clock;

// Searches until `end`; at least one batch. Gives back how many visits came of it.
std::size_t work(Search &search, Board board, Clock::time_point end) {
    Events events;
    std::size_t visits = 0;
    do {
        bool full = false;
        visits += search.shared([&](auto *it) { return playouts(it, events, board, full); });
        if (full) search.alone([](auto *it) { must(oncilla_recycle(it, nullptr)); });
    } while (Clock::now() < end);
    return visits;
}

// Searches until the limit, by two threads. What one of them throws is thrown here.
std::size_t think(Search &search, Board board, double limit_ms) {
    std::chrono::duration<double, std::milli> limit(limit_ms);
    auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
    auto start = [&] { return std::async(std::launch::async, work, std::ref(search), board, end); };
    std::array<std::future<std::size_t>, 2> threads{start(), start()};
    std::size_t visits = 0;
    for (std::future<std::size_t> &thread : threads) visits += thread.get();
    return visits;
}

} // namespace

int main() {
    try {
        Search search;
        Memory time_memory = memory(oncilla_time_size());
        OncillaTime *time;
        must(oncilla_time_new(time_memory.data(), oncilla_time_size(), nullptr, &time));

        Board board{0, 0};
        OncillaClock clock{};
        clock.base_ms = 2000; // for the whole game
        for (clock.ply = 0; !board_is_lost(board); clock.ply++) {
            std::array<uint16_t, COLUMNS> moves;
            if (board_moves(board, moves.data()) == 0) break;
            OncillaStats before, after;
            must(search.alone([](auto *it) { return oncilla_start_move(it); }));
            must(search.shared([&](auto *it) { return oncilla_stats(it, &before); }));
            // There is no such clock for the other side: it plays as fast.
            OncillaBudget budget;
            must(oncilla_time_start(time, &clock, before.visits, &budget));
            auto start = Clock::now();
            std::size_t visits = think(search, board, budget.limit_ms);
            std::chrono::duration<double, std::milli> used = Clock::now() - start;
            must(oncilla_time_end(time, used.count(), visits));
            clock.base_ms -= used.count();

            uint16_t mv;
            std::array<uint16_t, 8> line;
            std::size_t plies;
            must(search.shared([&](auto *it) { return oncilla_best_move(it, &mv); }));
            must(search.shared([&](auto *it) { return oncilla_pv(it, line.data(), line.size(), &plies); }));
            must(search.shared([&](auto *it) { return oncilla_stats(it, &after); }));
            if (after.in_flight != 0) throw std::runtime_error("a visit was lost");
            std::printf("column %d, %.1f ms, %u visits, %u nodes, value %+.3f, line", mv + 1, used.count(),
                        after.visits, after.nodes, static_cast<double>(after.wl));
            for (std::size_t i = 0; i < plies; i++) std::printf(" %d", line[i] + 1);
            std::printf("\n");

            board = board_play(board, mv);
            must(search.alone([&](auto *it) { return oncilla_advance(it, &mv, 1, nullptr); }));
        }
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "connect_four: %s\n", error.what());
        return 1;
    }
}
