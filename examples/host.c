/* A host of lane: runs a prompt of token ids and prints the ids that follow it, the best at each step.
 *
 *   host CHECKPOINT.gguf PLAN N TOKEN...
 *
 * `lane plan CHECKPOINT.gguf --save PLAN` writes the plan. Exits with the code of lane_errors.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lane.h"

static int fail(lane_status status) {
  fprintf(stderr, "host: %s\n", lane_error_text());
  return status;
}

static int usage(void) {
  fputs("host: usage: host CHECKPOINT PLAN N TOKEN...\n", stderr);
  return LANE_USAGE;
}

/* A whole number from `least` to what 32 bits hold; 0 if the text is none. */
static int number(const char* text, long least, int32_t* value) {
  char* end;
  errno = 0;
  const long found = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || found < least || found > INT32_MAX) return 0;
  *value = (int32_t)found;
  return 1;
}

/* The prompt, then one step a token: the last one chosen needs no step of its own. */
static lane_status generate(lane_session* session, const int32_t* prompt, size_t prompt_tokens, int32_t count) {
  lane_status status = lane_prefill(session, prompt, prompt_tokens);
  for (int32_t i = 0; status == LANE_DONE && i < count; ++i) {
    int32_t token;
    if (i > 0) status = lane_decode(session, 1);
    if (status == LANE_DONE) status = lane_token(session, &token);
    if (status == LANE_DONE) printf("%s%d", i == 0 ? "" : " ", (int)token);
  }
  printf("\n");
  return status;
}

int main(int argc, char** argv) {
  if (argc < 5) return usage();
  int32_t count;
  if (!number(argv[3], 1, &count)) return usage();
  const size_t prompt_tokens = (size_t)argc - 4;
  int32_t* prompt = malloc(prompt_tokens * sizeof *prompt);
  if (prompt == NULL) return LANE_CAPACITY;
  for (size_t i = 0; i < prompt_tokens; ++i) {
    if (!number(argv[4 + i], 0, &prompt[i])) {
      free(prompt);
      return usage();
    }
  }

  lane_engine* engine = NULL;
  lane_session* session = NULL;
  lane_status status = lane_open(argv[1], argv[2], 0, &engine);
  if (status == LANE_DONE) status = lane_session_open(engine, &session);
  if (status == LANE_DONE) status = generate(session, prompt, prompt_tokens, count);
  const int code = status == LANE_DONE ? 0 : fail(status);
  lane_session_close(session);
  lane_close(engine);
  free(prompt);
  return code;
}
