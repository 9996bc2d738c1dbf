#include "cpp/cpu/program.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "cpp/runtime/error.h"

namespace lane::cpu {
namespace {

constexpr int kPoison = 0xff;  // what no launch wrote reads as NaN
constexpr int kMostThreads = 1024;

[[noreturn]] void refuse(const std::string& what, const std::string& found, const std::string& allowed) {
  throw Error(ErrorKind::kUsage, "cpu: " + what + ": found " + found + ", allowed " + allowed);
}

int checked_threads(int threads) {
  if (threads < 1 || threads > kMostThreads) {
    refuse("threads", std::to_string(threads), "1 to " + std::to_string(kMostThreads));
  }
  return threads;
}

// Why a form cannot run with its positions as they are; null if it can.
std::exception_ptr find_refusal(const Form& form, const Bases& bases) noexcept {
  try {
    form.check_indices(bases);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// What lives across steps: at least this many bytes, those that were there as they were.
void grow_kept(Allocation& memory, std::int64_t bytes) {
  if (bytes <= memory.bytes()) return;
  Allocation wider(bytes);
  if (memory.bytes() > 0) std::memcpy(wider.get(), memory.get(), static_cast<std::size_t>(memory.bytes()));
  memory = std::move(wider);
}

}  // namespace

CpuProgram::CpuProgram(int threads, std::int64_t numerics, const std::string& isa)
    : kernels_(kernels(find_isa(isa))), numerics_(numerics_at(numerics)), team_(checked_threads(threads)) {
  scratch_.resize(static_cast<std::size_t>(threads));
}

std::int64_t CpuProgram::add_matrix(std::int64_t type_id, std::int64_t rows, std::int64_t cols,
                                    const std::vector<Rows>& runs) {
  const std::lock_guard lock(mutex_);
  auto matrix = std::make_unique<Matrix>(matrix_of(kernels_, type_id, rows, cols));
  std::int64_t first = 0;
  for (const Rows& run : runs) {
    if (run.rows < 1 || run.rows > rows - first) {
      refuse("matrix: rows of a run", std::to_string(run.rows), "1 to " + std::to_string(rows - first));
    }
    if (run.bytes / matrix->row_bytes < run.rows) {
      refuse("matrix: bytes of a run of " + std::to_string(run.rows) + " rows", std::to_string(run.bytes),
             std::to_string(matrix->row_bytes) + " a row");
    }
    matrix->runs.push_back({run.data, first, run.rows});
    first += run.rows;
  }
  if (rows < 1 || first != rows) refuse("matrix: rows of its runs", std::to_string(first), std::to_string(rows));
  matrices_.push_back(std::move(matrix));
  return std::ssize(matrices_) - 1;
}

void CpuProgram::grow_pool(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes < 0) refuse("pool bytes", std::to_string(bytes), "0 up");
  grow_kept(pool_, bytes);
}

void CpuProgram::grow_states(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes < 0) refuse("state bytes", std::to_string(bytes), "0 up");
  for (auto& [number, memory] : states_) grow_kept(memory, bytes);
  state_bytes_ = std::max(state_bytes_, bytes);
}

std::int64_t CpuProgram::open_state() {
  const std::lock_guard lock(mutex_);
  states_.emplace(next_state_, Allocation(state_bytes_));
  return next_state_++;
}

void CpuProgram::close_state(std::int64_t state) {
  const std::lock_guard lock(mutex_);
  state_at(state);
  states_.erase(state);
}

Allocation& CpuProgram::state_at(std::int64_t state) {
  const auto found = states_.find(state);
  if (found == states_.end()) refuse("state", std::to_string(state), "one that is open");
  return found->second;
}

std::byte* CpuProgram::at(spec::Space space, std::int64_t state, std::int64_t offset, std::int64_t bytes) {
  const std::string name = spec::kSpaceNames[static_cast<std::size_t>(space)];
  if (space != spec::Space::kArena && space != spec::Space::kPool && space != spec::Space::kState) {
    refuse("space", name, "arena, pool or state");
  }
  const Allocation& memory = space == spec::Space::kArena  ? arena_
                             : space == spec::Space::kPool ? pool_
                                                           : state_at(state);
  if (offset < 0 || bytes < 0 || offset > memory.bytes() || bytes > memory.bytes() - offset) {
    refuse(name + " access", std::to_string(bytes) + " bytes at " + std::to_string(offset),
           "within its " + std::to_string(memory.bytes()) + " bytes");
  }
  return memory.get() + offset;
}

void CpuProgram::write(spec::Space space, std::int64_t state, std::int64_t offset, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  std::byte* to = at(space, state, offset, std::ssize(bytes));
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

std::vector<std::byte> CpuProgram::read(spec::Space space, std::int64_t state, std::int64_t offset,
                                        std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::byte* from = at(space, state, offset, bytes);
  return {from, from + bytes};
}

void CpuProgram::zero(spec::Space space, std::int64_t state, std::int64_t offset, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::byte* to = at(space, state, offset, bytes);
  if (bytes > 0) std::memset(to, 0, static_cast<std::size_t>(bytes));
}

// What a form brings to memory that all forms use: at least this many bytes, poisoned.
void CpuProgram::grow(Allocation& memory, std::int64_t bytes) {
  if (bytes <= memory.bytes()) return;
  memory = Allocation(bytes);
  memory.fill(kPoison);
}

std::int64_t CpuProgram::add_form(std::span<const std::int64_t> table, std::span<const std::int64_t> words,
                                  std::int64_t arena_bytes) {
  const std::lock_guard lock(mutex_);
  if (std::ssize(table) % spec::kTableColumns != 0) {
    refuse("buffer table", std::to_string(table.size()) + " words",
           "a multiple of " + std::to_string(spec::kTableColumns));
  }
  if (arena_bytes < 0) refuse("arena bytes", std::to_string(arena_bytes), "0 up");
  const Room room = {arena_bytes, pool_.bytes(), state_bytes_};
  Binder binder(table.data(), std::ssize(table) / spec::kTableColumns, matrices_, numerics_, room, kernels_,
                team_.threads());
  auto form = std::make_unique<Form>(words.data(), std::ssize(words), binder);
  grow(arena_, arena_bytes);
  for (Allocation& scratch : scratch_) grow(scratch, binder.thread_bytes());
  forms_.push_back(std::move(form));
  return std::ssize(forms_) - 1;
}

Form& CpuProgram::form_at(std::int64_t form) {
  if (form < 0 || form >= std::ssize(forms_)) {
    refuse("form", std::to_string(form), "0 to " + std::to_string(std::ssize(forms_) - 1));
  }
  return *forms_[static_cast<std::size_t>(form)];
}

Bases CpuProgram::bases_for(const Form& form, std::int64_t state, const std::vector<External>& externals) {
  const std::vector<std::int64_t>& wanted = form.external_elems();
  if (externals.size() != wanted.size()) {
    refuse("external arrays", std::to_string(externals.size()), std::to_string(wanted.size()));
  }
  std::byte* own = form.touches_state() ? state_at(state).get() : nullptr;
  Bases bases = {arena_.get(), pool_.get(), own};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (externals[i].elems < wanted[i]) {
      refuse("external array " + std::to_string(i) + ": elements", std::to_string(externals[i].elems),
             std::to_string(wanted[i]) + " up");
    }
    bases.push_back(reinterpret_cast<std::byte*>(externals[i].data));
  }
  return bases;
}

std::int64_t CpuProgram::scratch_bytes() const {
  std::int64_t bytes = 0;
  for (const Allocation& scratch : scratch_) bytes += scratch.bytes();
  return bytes;
}

Worker CpuProgram::worker_for(const Bases& bases, int thread) const {
  return {kernels_, bases, scratch_[static_cast<std::size_t>(thread)].get()};
}

void CpuProgram::run(std::int64_t number, std::int64_t state, const std::vector<External>& externals,
                     std::int64_t repeat) {
  const std::lock_guard lock(mutex_);
  Form& form = form_at(number);
  if (repeat < 0) refuse("repeat", std::to_string(repeat), "0 up");
  if (repeat == 0) return;
  const Bases bases = bases_for(form, state, externals);
  form.check_indices(bases);
  const std::uint32_t first = form.next_round();
  std::exception_ptr refused;  // of thread 0's alone
  auto rounds = [&](int thread) noexcept {
    Worker worker = worker_for(bases, thread);
    for (std::int64_t done = 0; done < repeat; ++done) {
      const std::uint32_t round = first + static_cast<std::uint32_t>(done);
      if (thread != 0) {
        if (!form.await_round(team_, round, thread)) return;
      } else {
        if (done > 0) refused = find_refusal(form, bases);
        if (refused != nullptr) return form.end_rounds();
        if (team_.threads() > 1) form.begin_round(bases);
      }
      if (team_.threads() > 1) {
        form.walk(team_, worker, round, thread);
      } else {
        form.run_alone(worker);
      }
    }
  };
  team_.run(rounds);
  if (refused != nullptr) std::rethrow_exception(refused);
}

void CpuProgram::run_launches(std::int64_t number, std::int64_t state, const std::vector<External>& externals,
                              std::int64_t first, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  Form& form = form_at(number);
  if (first < 0 || end > form.launches() || first > end) {
    refuse("launches", std::to_string(first) + " to " + std::to_string(end),
           "a range within 0 to " + std::to_string(form.launches()));
  }
  const Bases bases = bases_for(form, state, externals);
  form.check_indices(bases);
  Worker worker = worker_for(bases, 0);
  form.run_some(worker, first, end);
}

std::vector<std::int64_t> CpuProgram::profile(std::int64_t number, std::int64_t state,
                                              const std::vector<External>& externals) {
  const std::lock_guard lock(mutex_);
  Form& form = form_at(number);
  const Bases bases = bases_for(form, state, externals);
  form.check_indices(bases);
  const std::uint32_t round = form.next_round();
  form.begin_round(bases);
  std::vector<std::int64_t> times(static_cast<std::size_t>(form.launches()));
  auto step = [&](int thread) noexcept {
    Worker worker = worker_for(bases, thread);
    form.walk_timed(team_, worker, round, thread, times.data());
  };
  team_.run(step);
  return times;
}

}  // namespace lane::cpu
