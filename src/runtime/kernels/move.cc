// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/move.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kBytesPerNs = 8.0;
constexpr double kElementNs = 0.4;
constexpr double kRunNs = 4.0;
constexpr int64_t kTableLimit = 8192;     // elements of a row that axes are joined to
constexpr int64_t kShortRow = 64;         // elements; shorter rows are joined
constexpr int64_t kShortRunBytes = 16;    // on average; shorter runs are no runs
constexpr int64_t kPieceLength = 1 << 14; // elements of a long row that a thread takes at once

std::vector<MoveRun> runs_of(const std::vector<int64_t>& from) {
  std::vector<MoveRun> runs;
  const auto size = static_cast<int64_t>(from.size());
  for (int64_t i = 0; i < size;) {
    const auto at = [&](int64_t k) { return from[static_cast<size_t>(k)]; };
    MoveRun run{i, at(i), 1, 1};
    if (i + 1 < size && at(i) != kFill && at(i + 1) != kFill) run.step = at(i + 1) - at(i);
    const auto goes_on = [&](int64_t offset) {
      if (run.from == kFill || offset == kFill) return run.from == offset;
      return offset == run.from + run.count * run.step;
    };
    while (i + run.count < size && goes_on(at(i + run.count)))
      ++run.count;
    if (run.count == 1) run.step = 1;
    i += run.count;
    runs.push_back(run);
  }
  return runs;
}

/// Offsets of a row that joins two axes.
std::vector<int64_t> joined(const std::vector<int64_t>& outer, const std::vector<int64_t>& inner) {
  std::vector<int64_t> out;
  out.reserve(outer.size() * inner.size());
  for (const int64_t o : outer)
    for (const int64_t i : inner)
      out.push_back(o == kFill || i == kFill ? kFill : o + i);
  return out;
}

/// Runs of an axis before a dense row: where the axis steps by the row's length it runs on.
std::vector<MoveRun> widened(const std::vector<MoveRun>& axis, const MoveRun& row) {
  const int64_t length = row.count;
  std::vector<MoveRun> out;
  for (const MoveRun& r : axis) {
    const int64_t to = r.to * length;
    if (r.from == kFill) {
      out.push_back({to, kFill, 1, r.count * length});
    } else if (r.count == 1 || r.step == length) {
      out.push_back({to, r.from + row.from, 1, r.count * length});
    } else if (length == 1) {
      out.push_back({to, r.from + row.from, r.step, r.count});
    } else {
      for (int64_t k = 0; k < r.count; ++k)
        out.push_back({to + k * length, r.from + k * r.step + row.from, 1, length});
    }
  }
  return out;
}

bool is_dense(const std::vector<MoveRun>& runs) {
  return runs.size() == 1 && runs[0].from != kFill && runs[0].step == 1;
}

template <typename T>
T load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
template <typename T>
void store(std::byte* p, T v) {
  std::memcpy(p, &v, sizeof(T));
}

struct Wide {
  uint64_t halves[2];
};

template <typename T>
void fill_run(const void* fill, std::byte* to, int64_t count) {
  const T v = load<T>(static_cast<const std::byte*>(fill));
  for (int64_t i = 0; i < count; ++i)
    store(to + i * static_cast<int64_t>(sizeof(T)), v);
}

template <typename T>
void copy_run(const std::byte* from, int64_t step, std::byte* to, int64_t count) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * kWidth));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    store(to + i * kWidth, load<T>(from + i * step * kWidth));
}

/// Elements [begin, end) of a row. x_row: where its offsets count from.
template <typename T>
void copy_piece(const MovePlan& plan,
                const std::byte* x_row,
                const void* fill,
                int64_t begin,
                int64_t end,
                std::byte* y_row) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  if (plan.rows == MovePlan::Rows::kTable) {
    const int64_t* from = plan.table.data();
    if (!plan.table_fills) {
      for (int64_t i = begin; i < end; ++i)
        store(y_row + i * kWidth, load<T>(x_row + from[i] * kWidth));
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      const std::byte* p =
          from[i] == kFill ? static_cast<const std::byte*>(fill) : x_row + from[i] * kWidth;
      store(y_row + i * kWidth, load<T>(p));
    }
    return;
  }
  auto run = plan.runs.begin();
  if (begin > 0)
    run = std::prev(std::upper_bound(plan.runs.begin(), plan.runs.end(), begin,
                                     [](int64_t at, const MoveRun& r) { return at < r.to; }));
  for (; run != plan.runs.end() && run->to < end; ++run) {
    const int64_t first = std::max(run->to, begin);
    const int64_t count = std::min(run->to + run->count, end) - first;
    std::byte* to = y_row + first * kWidth;
    if (run->from == kFill)
      fill_run<T>(fill, to, count);
    else
      copy_run<T>(x_row + (run->from + (first - run->to) * run->step) * kWidth, run->step, to,
                  count);
  }
}

/// Offset that the axes before the last outer one add for row block `block`.
int64_t block_from(const MovePlan& plan, int64_t block) {
  int64_t sum = 0;
  for (size_t i = plan.outer.size() - 1; i-- > 0;) {
    const auto size = static_cast<int64_t>(plan.outer[i].size());
    const int64_t offset = plan.outer[i][static_cast<size_t>(block % size)];
    if (offset == kFill) return kFill;
    sum += offset;
    block /= size;
  }
  return sum;
}

template <typename T>
class Mover {
 public:
  Mover(const MovePlan& plan, const void* x, const void* fill, void* y)
      : plan_(plan), x_(static_cast<const std::byte*>(x)), fill_(fill),
        y_(static_cast<std::byte*>(y)), row_bytes_(plan.row_length * kWidth) {}

  void rows(int64_t begin, int64_t end) const {
    const std::vector<int64_t>& last = plan_.outer.back();
    const auto size = static_cast<int64_t>(last.size());
    int64_t before = kFill;
    for (int64_t r = begin; r < end;) {
      const int64_t base = block_from(plan_, r / size), at = r % size;
      const int64_t count = std::min(size - at, end - r);
      for (int64_t k = 0; k < count; ++k, ++r) {
        const int64_t step = last[static_cast<size_t>(at + k)];
        const int64_t from = base == kFill || step == kFill ? kFill : base + step;
        std::byte* to = y_ + r * row_bytes_;
        if (from != kFill && from == before && r > begin)
          std::memcpy(to, to - row_bytes_, static_cast<size_t>(row_bytes_));
        else
          piece(from, 0, plan_.row_length, to);
        before = from;
      }
    }
  }

  void piece_of_row(int64_t row, int64_t begin, int64_t end) const {
    const std::vector<int64_t>& last = plan_.outer.back();
    const auto size = static_cast<int64_t>(last.size());
    const int64_t base = block_from(plan_, row / size),
                  step = last[static_cast<size_t>(row % size)];
    piece(base == kFill || step == kFill ? kFill : base + step, begin, end, y_ + row * row_bytes_);
  }

 private:
  static constexpr auto kWidth = static_cast<int64_t>(sizeof(T));

  void piece(int64_t from, int64_t begin, int64_t end, std::byte* y_row) const {
    if (from == kFill)
      fill_run<T>(fill_, y_row + begin * kWidth, end - begin);
    else
      copy_piece<T>(plan_, x_ + from * kWidth, fill_, begin, end, y_row);
  }

  const MovePlan& plan_;
  const std::byte* x_;
  const void* fill_;
  std::byte* y_;
  int64_t row_bytes_;
};

template <typename T>
void move_all(
    const MovePlan& plan, const void* x, const void* fill, void* y, ParallelFor& parallel) {
  const Mover<T> mover(plan, x, fill, y);
  const auto width = static_cast<double>(plan.width);
  const double element_ns = plan.rows == MovePlan::Rows::kTable ? kElementNs : width / kBytesPerNs;
  const double run_ns =
      plan.rows == MovePlan::Rows::kTable ? kRunNs : kRunNs * static_cast<double>(plan.runs.size());
  if (plan.row_length <= kPieceLength) {
    const double ns = run_ns + element_ns * static_cast<double>(plan.row_length);
    parallel.run(plan.row_count, grain_for(ns),
                 [&](int64_t begin, int64_t end) { mover.rows(begin, end); });
    return;
  }
  const int64_t pieces = (plan.row_length + kPieceLength - 1) / kPieceLength;
  const double ns =
      run_ns / static_cast<double>(pieces) + element_ns * static_cast<double>(kPieceLength);
  parallel.run(plan.row_count * pieces, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kPieceLength;
      mover.piece_of_row(i / pieces, first, std::min(first + kPieceLength, plan.row_length));
    }
  });
}

} // namespace

MovePlan plan_move(int64_t width, std::vector<std::vector<int64_t>> from) {
  MovePlan plan{.width = width};
  plan.runs = {{0, 0, 1, 1}};
  std::vector<int64_t> table = {0};
  while (!from.empty()) {
    const std::vector<int64_t>& axis = from.back();
    const auto size = static_cast<int64_t>(axis.size());
    const bool is_row = plan.row_length == 1;
    if (is_dense(plan.runs)) {
      plan.runs = widened(runs_of(axis), plan.runs[0]);
      const bool fits = plan.row_length * size <= kTableLimit;
      table = fits && !table.empty() ? joined(axis, table) : std::vector<int64_t>();
    } else if (!table.empty() && plan.row_length < kShortRow &&
               plan.row_length * size <= kTableLimit) {
      table = joined(axis, table);
      plan.runs = runs_of(table);
    } else {
      break;
    }
    if (is_row && table.empty()) table = axis;
    plan.row_length *= size;
    from.pop_back();
  }
  plan.outer = std::move(from);
  if (plan.outer.empty()) plan.outer = {{0}};
  for (const std::vector<int64_t>& axis : plan.outer)
    plan.row_count *= static_cast<int64_t>(axis.size());
  const auto runs = static_cast<int64_t>(plan.runs.size());
  if (!table.empty() && runs * kShortRunBytes > plan.row_length * width) {
    plan.rows = MovePlan::Rows::kTable;
    plan.table = std::move(table);
    plan.table_fills = std::find(plan.table.begin(), plan.table.end(), kFill) != plan.table.end();
    plan.runs.clear();
  }
  return plan;
}

void move(const MovePlan& plan, const void* x, const void* fill, void* y, ParallelFor& parallel) {
  if (plan.row_count == 0 || plan.row_length == 0) return;
  switch (plan.width) {
  case 1:
    return move_all<uint8_t>(plan, x, fill, y, parallel);
  case 2:
    return move_all<uint16_t>(plan, x, fill, y, parallel);
  case 4:
    return move_all<uint32_t>(plan, x, fill, y, parallel);
  case 8:
    return move_all<uint64_t>(plan, x, fill, y, parallel);
  default:
    return move_all<Wide>(plan, x, fill, y, parallel);
  }
}

} // namespace octet::kernels
