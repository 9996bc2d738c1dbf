// The CPU device: matrices in place, a pool of constants, a state for each sequence, an arena for what lives within a
// step, and forms that run without returning to their caller.
//
// A state is the carried memory, parameters and logits of one sequence; all have the same layout, and live beside one
// another. A run names its form and its state. Pool and states may grow as forms are added: what they hold stays.
//
// Everything a form touches is checked when it is added, positions and indices when it runs; so a run cannot fail half
// way, nor read or write outside its buffers. One call at a time; later ones wait.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cpp/cpu/form.h"
#include "cpp/cpu/kernels.h"
#include "cpp/cpu/memory.h"
#include "cpp/cpu/team.h"

namespace lane::cpu {

class CpuProgram {
 public:
  // Rows of a matrix that lie end to end: `bytes` are there from `data` on.
  struct Rows {
    const std::uint8_t* data;
    std::int64_t bytes, rows;
  };
  // An array of the caller's, written by a run.
  struct External {
    float* data;
    std::int64_t elems;
  };

  // `isa`: a name from available_isas(), or "auto".
  CpuProgram(int threads, std::int64_t numerics, const std::string& isa);

  // The number of a matrix whose rows are those of `runs`, one run after the other, in ggml's type `type_id`.
  std::int64_t add_matrix(std::int64_t type_id, std::int64_t rows, std::int64_t cols, const std::vector<Rows>& runs);

  // Memory of this many bytes at least; what is new of it is zero.
  void grow_pool(std::int64_t bytes);
  void grow_states(std::int64_t bytes);

  // The number of a new state, all zero. A closed one's memory is given back and its number not used again.
  std::int64_t open_state();
  void close_state(std::int64_t state);

  // Bytes of a space: the arena, the pool, or a state (whose number `state` is; otherwise unused).
  void write(spec::Space space, std::int64_t state, std::int64_t offset, std::span<const std::byte> bytes);
  std::vector<std::byte> read(spec::Space space, std::int64_t state, std::int64_t offset, std::int64_t bytes);
  void zero(spec::Space space, std::int64_t state, std::int64_t offset, std::int64_t bytes);

  // The number of a form: `table` has kTableColumns words a buffer, `words` each launch's kind, scratch and record.
  std::int64_t add_form(std::span<const std::int64_t> table, std::span<const std::int64_t> words,
                        std::int64_t arena_bytes);

  // Runs a form `repeat` times. Errors before a step, with `repeat` after the steps before it, leave all state whole.
  void run(std::int64_t form, std::int64_t state, const std::vector<External>& externals, std::int64_t repeat = 1);

  // Runs the launches [first, end) of a form once. What the arena holds when a call returns is there at the next.
  void run_launches(std::int64_t form, std::int64_t state, const std::vector<External>& externals, std::int64_t first,
                    std::int64_t end);

  // Runs a form once and gives each launch's nanoseconds.
  std::vector<std::int64_t> profile(std::int64_t form, std::int64_t state, const std::vector<External>& externals);

  // Bytes that the forms' launches have for each thread, all threads together.
  std::int64_t scratch_bytes() const;

  Isa isa() const { return kernels_.isa; }
  int threads() const { return team_.threads(); }

 private:
  Form& form_at(std::int64_t form);
  Bases bases_for(const Form& form, std::int64_t state, const std::vector<External>& externals);
  Allocation& state_at(std::int64_t state);
  std::byte* at(spec::Space space, std::int64_t state, std::int64_t offset, std::int64_t bytes);
  Worker worker_for(const Bases& bases, int thread) const;
  static void grow(Allocation& memory, std::int64_t bytes);

  std::mutex mutex_;
  const Kernels& kernels_;
  spec::Numerics numerics_;
  Team team_;
  std::vector<std::unique_ptr<Matrix>> matrices_;
  Allocation pool_, arena_;
  std::int64_t state_bytes_ = 0;
  std::map<std::int64_t, Allocation> states_;
  std::int64_t next_state_ = 0;
  std::vector<Allocation> scratch_;  // one a thread
  std::vector<std::unique_ptr<Form>> forms_;
};

}  // namespace lane::cpu
