#include "cpp/embed/engine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cpp/runtime/error.h"
#include "cpp/runtime/gguf_identity.h"
#include "cpp/runtime/utf8.h"

namespace lane::embed {
namespace {

// Processors that the process may run on.
int processors() {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

// Threads to run on. Launches have scratch for those of the plan; fewer need no more.
int choose_threads(const Plan& plan, int threads) {
  if (threads == 0) return static_cast<int>(std::min<std::int64_t>(plan.threads, processors()));
  if (threads > 0 && threads <= plan.threads) return threads;
  throw Error(ErrorKind::kUsage, "plan: threads: found " + std::to_string(threads) + ", allowed 1 to " +
                                     std::to_string(plan.threads) + ", what it was made for");
}

// Refuses what the machine cannot hold before any of it is touched.
void check_memory(const Plan& plan) {
  const std::int64_t there_is = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  std::int64_t arena = 0, wanted = 0;
  for (const PlanForm& form : plan.forms) arena = std::max(arena, form.arena_bytes);
  for (const std::int64_t bytes : {plan.pool_bytes, plan.state_bytes, arena}) {
    if (__builtin_add_overflow(wanted, bytes, &wanted)) wanted = INT64_MAX;
  }
  if (wanted <= there_is) return;
  throw Error(ErrorKind::kCapacity, "plan: constants, a state and the arena take " + std::to_string(wanted) +
                                        " bytes, allowed " + std::to_string(there_is) + " (the machine's memory)");
}

// The plan behind the words, which a delegating constructor needs by reference.
struct ReadPlan {
  std::vector<std::int64_t> words;
  Plan plan;

  explicit ReadPlan(const std::string& path) : words(read_plan_words(path)), plan(parse_plan(words, path)) {}
};

}  // namespace

Engine::Engine(const std::string& checkpoint, const std::string& plan, int threads)
    : Engine(checkpoint, plan, ReadPlan(plan).plan, threads) {}

Engine::Engine(const std::string& checkpoint, const std::string& path, const Plan& plan, int threads)
    : files_(open_known_checkpoint(checkpoint, plan.identity)),
      program_(choose_threads(plan, threads), plan.numerics, "auto"),
      io_(plan.io),
      context_(plan.context),
      pool_bytes_(plan.pool_bytes),
      state_bytes_(plan.state_bytes) {
  check_memory(plan);
  try {
    load(plan);
  } catch (const Error& error) {
    // What the device calls a request that makes no sense is here a file that is malformed.
    const ErrorKind kind = error.kind == ErrorKind::kUsage ? ErrorKind::kCheckpoint : error.kind;
    throw Error(kind, "plan: " + path_in_quotes(path) + ": " + error.what());
  }
}

void Engine::load(const Plan& plan) {
  for (const PlanMatrix& matrix : plan.matrices) add_matrix(matrix);
  program_.grow_pool(plan.pool_bytes);
  program_.grow_states(plan.state_bytes);
  for (const PlanConstant& constant : plan.constants) {
    program_.write(spec::Space::kPool, -1, constant.offset, constant.bytes);
  }
  for (const PlanForm& form : plan.forms) {
    if (form.sequences != 1 || form.all) {
      throw Error(ErrorKind::kUnsupported, "a form of " + std::to_string(form.sequences) +
                                               " sequences with logits of " + (form.all ? "all rows" : "the last row") +
                                               ", allowed one sequence and the last row");
    }
    forms_.push_back({form.rows, program_.add_form(form.table, form.records, form.arena_bytes)});
    arena_bytes_ = std::max(arena_bytes_, form.arena_bytes);
  }
}

void Engine::add_matrix(const PlanMatrix& matrix) {
  std::vector<cpu::CpuProgram::Rows> runs;
  for (const PlanRun& run : matrix.runs) {
    const std::span<const std::byte> file = files_[static_cast<std::size_t>(run.part)].bytes();
    const std::byte* data = file.data() + run.offset;
    runs.push_back({reinterpret_cast<const std::uint8_t*>(data), run.bytes, run.rows});
  }
  program_.add_matrix(matrix.type_id, matrix.rows, matrix.cols, runs);
}

std::int64_t Engine::most_rows() const { return std::ranges::max(forms_, {}, &Form::rows).rows; }

void Engine::require_whole() const {
  for (const MappedFile& file : files_) file.require_whole();
}

Session::Session(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)),
      state_(engine_->program().open_state()),
      steps_(engine_->program(), state_, engine_->io()) {
  for (const Engine::Form& form : engine_->forms()) steps_.add(form.rows, form.number);
}

Session::~Session() { engine_->program().close_state(state_); }

void Session::check_token(const std::string& what, std::int64_t token) const {
  if (token >= 0 && token < engine_->vocab()) return;
  throw Error(ErrorKind::kUsage,
              what + ": found " + std::to_string(token) + ", allowed 0 to " + std::to_string(engine_->vocab() - 1));
}

void Session::check_room(const std::string& what, std::int64_t count) {
  const std::int64_t room = engine_->context() - steps_.position();
  if (count <= room) return;
  throw Error(ErrorKind::kCapacity, what + ": found " + std::to_string(count) + " tokens, allowed " +
                                        std::to_string(room) + ", to the end of the context of " +
                                        std::to_string(engine_->context()));
}

void Session::prefill(std::span<const std::int32_t> tokens) {
  const std::lock_guard lock(mutex_);
  if (tokens.empty()) throw Error(ErrorKind::kUsage, "prefill: found 0 tokens, allowed 1 up");
  for (std::size_t i = 0; i < tokens.size(); ++i) check_token("prefill: token " + std::to_string(i), tokens[i]);
  check_room("prefill", std::ssize(tokens));
  lane::prefill(steps_, tokens, steps_.position(), steps_.rows(engine_->most_rows()));
  engine_->require_whole();
}

void Session::decode(std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  if (steps < 0) throw Error(ErrorKind::kUsage, "decode: found " + std::to_string(steps) + " steps, allowed 0 up");
  check_room("decode", steps);
  lane::decode(steps_, steps);
  engine_->require_whole();
}

void Session::read_logits(std::span<float> logits) {
  const std::lock_guard lock(mutex_);
  if (std::ssize(logits) != engine_->vocab()) {
    throw Error(ErrorKind::kUsage, "logits: found room for " + std::to_string(logits.size()) + ", allowed " +
                                       std::to_string(engine_->vocab()) + ", the vocabulary's");
  }
  steps_.read_logits(logits);
}

std::int32_t Session::token() {
  const std::lock_guard lock(mutex_);
  return steps_.token();
}

void Session::set_token(std::int32_t token) {
  const std::lock_guard lock(mutex_);
  check_token("token", token);
  steps_.set_token(token);
}

std::int64_t Session::position() {
  const std::lock_guard lock(mutex_);
  return steps_.position();
}

void Session::reset() {
  const std::lock_guard lock(mutex_);
  steps_.reset();
}

}  // namespace lane::embed
