// In: a checkpoint and the plan that lane wrote for it. Out: an engine, which holds weights, constants and forms once,
// and sessions on it, each one sequence with a state of its own. Nothing of Python's is needed.
//
// Calls may come from any thread. Those on one session wait for each other; of sessions on one engine, one step runs at
// a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cpp/cpu/program.h"
#include "cpp/cpu/steps.h"
#include "cpp/embed/plan_file.h"
#include "cpp/runtime/mapped_file.h"

namespace lane::embed {

class Engine {
 public:
  // A form that a session may run.
  struct Form {
    std::int64_t rows, number;
  };

  // `threads`: at most the plan's; 0 for as many of them as there are processors. Throws lane::Error.
  Engine(const std::string& checkpoint, const std::string& plan, int threads);

  std::int64_t context() const { return context_; }
  std::int64_t vocab() const { return io_.vocab; }
  std::int64_t most_rows() const;
  std::int64_t state_bytes() const { return state_bytes_; }
  std::int64_t shared_bytes() const { return pool_bytes_ + arena_bytes_; }
  int threads() const { return program_.threads(); }

  const cpu::StepIo& io() const { return io_; }
  const std::vector<Form>& forms() const { return forms_; }
  cpu::CpuProgram& program() { return program_; }

  // Throws a checkpoint error if the checkpoint was cut short while in use.
  void require_whole() const;

 private:
  Engine(const std::string& checkpoint, const std::string& path, const Plan& plan, int threads);
  void load(const Plan& plan);
  void add_matrix(const PlanMatrix& matrix);

  std::vector<MappedFile> files_;
  cpu::CpuProgram program_;
  const cpu::StepIo io_;
  const std::int64_t context_, pool_bytes_, state_bytes_;
  std::int64_t arena_bytes_ = 0;
  std::vector<Form> forms_;
};

class Session {
 public:
  explicit Session(std::shared_ptr<Engine> engine);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs tokens from the session's position on. Refused before a step: a usage error for no tokens or ids that the
  // vocabulary lacks, a capacity error for more than the context has room for.
  void prefill(std::span<const std::int32_t> tokens);

  // Runs the decode step so many times, each on the token that the step before chose. The same errors.
  void decode(std::int64_t steps);

  void read_logits(std::span<float> logits);
  std::int32_t token();
  void set_token(std::int32_t token);
  std::int64_t position();
  void reset();

 private:
  void check_token(const std::string& what, std::int64_t token) const;
  void check_room(const std::string& what, std::int64_t count);

  const std::shared_ptr<Engine> engine_;
  const std::int64_t state_;
  std::mutex mutex_;
  cpu::CpuSteps steps_;
};

}  // namespace lane::embed
