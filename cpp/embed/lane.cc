#include "cpp/embed/lane.h"

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "cpp/embed/engine.h"
#include "cpp/runtime/error.h"

struct lane_engine {
  std::shared_ptr<lane::embed::Engine> engine;
};

struct lane_session {
  lane::embed::Session session;
};

namespace {

// Of a thread: cut rather than allocated, as it must not fail.
constexpr std::size_t kTextBytes = 2048;
thread_local char error_text[kTextBytes] = "";

lane_status fail(int code, const char* text) {
  std::strncpy(error_text, text, kTextBytes - 1);
  return static_cast<lane_status>(code);
}

// Runs what may throw: no exception passes into C.
template <class Call>
lane_status guarded(Call call) noexcept {
  try {
    call();
    return LANE_DONE;
  } catch (const lane::Error& error) {
    return fail(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(LANE_CAPACITY, "lane: out of memory");
  } catch (const std::exception& error) {
    return fail(LANE_FAULT, error.what());
  } catch (...) {
    return fail(LANE_FAULT, "lane: a fault of its own");
  }
}

void require(const char* what, const void* pointer) {
  if (pointer != nullptr) return;
  throw lane::Error(lane::ErrorKind::kUsage, std::string("lane: ") + what + ": found NULL, allowed one");
}

}  // namespace

const char* lane_error_text(void) { return error_text; }

lane_status lane_open(const char* checkpoint, const char* plan, int32_t threads, lane_engine** engine) {
  return guarded([&] {
    require("checkpoint", checkpoint);
    require("plan", plan);
    require("engine", engine);
    *engine = new lane_engine{std::make_shared<lane::embed::Engine>(checkpoint, plan, threads)};
  });
}

lane_status lane_plan(const lane_engine* engine, lane_plan_facts* facts) {
  return guarded([&] {
    require("engine", engine);
    require("facts", facts);
    const lane::embed::Engine& of = *engine->engine;
    *facts = {of.context(), of.vocab(), of.most_rows(), of.shared_bytes(), of.state_bytes(), of.threads()};
  });
}

void lane_close(lane_engine* engine) { delete engine; }

lane_status lane_session_open(lane_engine* engine, lane_session** session) {
  return guarded([&] {
    require("engine", engine);
    require("session", session);
    *session = new lane_session{lane::embed::Session(engine->engine)};
  });
}

void lane_session_close(lane_session* session) { delete session; }

lane_status lane_prefill(lane_session* session, const int32_t* tokens, size_t count) {
  return guarded([&] {
    require("session", session);
    if (count > 0) require("tokens", tokens);
    session->session.prefill(std::span(tokens, count));
  });
}

lane_status lane_decode(lane_session* session, int64_t steps) {
  return guarded([&] {
    require("session", session);
    session->session.decode(steps);
  });
}

lane_status lane_logits(lane_session* session, float* logits, size_t count) {
  return guarded([&] {
    require("session", session);
    require("logits", logits);
    session->session.read_logits(std::span(logits, count));
  });
}

lane_status lane_token(lane_session* session, int32_t* token) {
  return guarded([&] {
    require("session", session);
    require("token", token);
    *token = session->session.token();
  });
}

lane_status lane_set_token(lane_session* session, int32_t token) {
  return guarded([&] {
    require("session", session);
    session->session.set_token(token);
  });
}

lane_status lane_position(lane_session* session, int64_t* position) {
  return guarded([&] {
    require("session", session);
    require("position", position);
    *position = session->session.position();
  });
}

lane_status lane_reset(lane_session* session) {
  return guarded([&] {
    require("session", session);
    session->session.reset();
  });
}
