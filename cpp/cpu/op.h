// A launch made ready to run: its operands resolved to allocations, its work cut into tasks that threads share.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpp/cpu/kernels.h"
#include "cpp/cpu/memory.h"

namespace lane::cpu {

// One thread's view of a run.
struct Worker {
  const Kernels& kernels;
  const Bases& bases;
  std::byte* scratch;              // of this thread alone, as many bytes as the launch asked for
  const void* prepared = nullptr;  // what the scratch holds from an earlier task of the same launch

  template <class T>
  T* at(Operand operand) const {
    return resolve<T>(bases, operand);
  }
};

// Phases run one after the other, the tasks of one in any order on any thread; no result depends on which.
class Op {
 public:
  virtual ~Op() = default;
  virtual int phases() const { return 1; }
  // One task: not worth sharing.
  virtual bool solo(int phase) const = 0;
  virtual std::int64_t tasks(const Bases& bases, int phase) const = 0;
  virtual void run(Worker& worker, int phase, std::int64_t task) const noexcept = 0;
};

// n units of work as tasks of `each`.
struct Cut {
  std::int64_t n, each;

  std::int64_t tasks() const { return (n + each - 1) / each; }
  std::int64_t first(std::int64_t task) const { return task * each; }
  std::int64_t count(std::int64_t task) const { return first(task) + each < n ? each : n - first(task); }
};

// An op of one phase whose work is a cut.
class CutOp : public Op {
 public:
  explicit CutOp(Cut cut) : cut_(cut) {}
  bool solo(int) const override { return cut_.tasks() == 1; }
  std::int64_t tasks(const Bases&, int) const override { return cut_.tasks(); }
  void run(Worker& worker, int, std::int64_t task) const noexcept final {
    run_part(worker, cut_.first(task), cut_.count(task));
  }

 protected:
  virtual void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept = 0;

 private:
  Cut cut_;
};

inline constexpr std::int64_t kTaskElems = spec::kCpuTaskElems;  // values that an elementwise task is worth

inline Cut cut_elems(std::int64_t n) { return {n, kTaskElems}; }
inline Cut cut_rows(std::int64_t rows, std::int64_t cols) { return {rows, cols < kTaskElems ? kTaskElems / cols : 1}; }

}  // namespace lane::cpu
