// Arena problems and answers as text: a few settings, a line each, then a table of comma-separated values.
//
//   alignment_bytes,64                     strategy,size_best_fit
//   streams,1                              total_bytes,4096
//   array,bytes,begin_0,end_0              lower_bound_bytes,4096
//   embed plain,2304,0,5                   array,offset_bytes
//                                          embed plain,0
#pragma once

#include <string>
#include <string_view>

#include "cpp/planner/arena.h"

namespace lane {

// Throws a usage error for an array's name that holds a comma or a line break.
std::string to_text(const ArenaProblem& problem);
std::string to_text(const ArenaProblem& problem, const ArenaAnswer& answer);

// Throws a usage error naming the line, what it holds and what is allowed. The problem read is valid.
ArenaProblem arena_problem_of(std::string_view text);

}  // namespace lane
