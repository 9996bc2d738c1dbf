#include "cpp/cpu/waiting.h"

#include <sched.h>

namespace lane::cpu {

void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void give_up_processor() noexcept { sched_yield(); }

}  // namespace lane::cpu
