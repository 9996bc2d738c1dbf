/* lane's C interface: a checkpoint and the plan that lane wrote for it (`lane plan MODEL --save FILE`), run on the CPU
 * by a process that needs no Python.
 *
 * An engine holds a model once; a session on it is one sequence, with a state of its own. Every call gives a code of
 * lane_errors.h, LANE_DONE or that of an error's kind; what is refused is refused before anything runs, and
 * lane_error_text says what was found and what is allowed.
 *
 * Threads: calls may come from any thread. Those on one session wait for each other; of sessions on one engine, one
 * step runs at a time, the others wait. Nothing may be called on what is being closed. Engines are independent.
 *
 * Unless it is built with LANE_NO_LOST_PAGES, the process's SIGBUS handler is lane's from the first lane_open on: a
 * checkpoint that others cut short is then LANE_CHECKPOINT at the call that read it, not the end of the process. What
 * is no fault of lane's files goes to the handler that was there before. */
#ifndef LANE_H_
#define LANE_H_

#include <stddef.h>
#include <stdint.h>

#include "lane_errors.h"

#define LANE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lane_engine lane_engine;
typedef struct lane_session lane_session;

/* What an engine was planned for, and what it holds. */
typedef struct lane_plan_facts {
  int64_t context;       /* positions of a sequence */
  int64_t vocab;         /* ids are 0 to vocab - 1; so many logits */
  int64_t most_rows;     /* tokens of the largest step of a prefill */
  int64_t shared_bytes;  /* constants and the memory of a step; weights stay in the mapped checkpoint */
  int64_t session_bytes; /* of each session's state */
  int32_t threads;
} lane_plan_facts;

/* What the last call of this thread that failed was refused for: one line, until the next one that fails. Empty if none
 * has. */
LANE_API const char* lane_error_text(void);

/* Opens a checkpoint (one file, or the first of those that it was split into) with its plan. `threads`: 1 to those that
 * the plan was made for, or 0 for as many of them as the process may run on. LANE_USAGE for a path that does not open,
 * LANE_CHECKPOINT for a malformed plan or one of another checkpoint, LANE_UNSUPPORTED for a plan of another version of
 * lane, LANE_CAPACITY for too little memory. */
LANE_API lane_status lane_open(const char* checkpoint, const char* plan, int32_t threads, lane_engine** engine);

LANE_API lane_status lane_plan(const lane_engine* engine, lane_plan_facts* facts);

/* Sessions that are open keep what they need until they are closed. NULL is nothing to close. */
LANE_API void lane_close(lane_engine* engine);

/* A sequence of its own, at position 0. */
LANE_API lane_status lane_session_open(lane_engine* engine, lane_session** session);
LANE_API void lane_session_close(lane_session* session);

/* Runs a prompt, or more of one, from the session's position on. Then the logits are those of its last token, and the
 * token is the best by them. LANE_USAGE for ids outside the vocabulary or none, LANE_CAPACITY past the context. */
LANE_API lane_status lane_prefill(lane_session* session, const int32_t* tokens, size_t count);

/* Runs `steps` decode steps, with nothing between: each takes the token that the one before chose. */
LANE_API lane_status lane_decode(lane_session* session, int64_t steps);

/* The last step's logits: `count` is the vocabulary's. */
LANE_API lane_status lane_logits(lane_session* session, float* logits, size_t count);

/* The token that the next decode step takes: the last step's choice, or another, as a sampler wants it. */
LANE_API lane_status lane_token(lane_session* session, int32_t* token);
LANE_API lane_status lane_set_token(lane_session* session, int32_t token);

/* The position of the next token: how many the session holds. */
LANE_API lane_status lane_position(lane_session* session, int64_t* position);

/* Forgets the sequence: the session is as it was opened. */
LANE_API lane_status lane_reset(lane_session* session);

#ifdef __cplusplus
}
#endif

#endif /* LANE_H_ */
