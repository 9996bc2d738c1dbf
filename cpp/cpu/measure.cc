#include "cpp/cpu/measure.h"

#include <limits>
#include <memory>

#include "cpp/cpu/form.h"

namespace lane::cpu {

std::vector<Needs> measure_form(std::span<const std::int64_t> table, std::span<const std::int64_t> words,
                                const std::vector<MatrixShape>& matrices, std::int64_t numerics, int threads,
                                const std::string& isa) {
  constexpr std::int64_t kAnywhere = std::numeric_limits<std::int64_t>::max();
  const Kernels& with = kernels(find_isa(isa));
  std::vector<std::unique_ptr<Matrix>> shapes;
  for (const MatrixShape& m : matrices) {
    shapes.push_back(std::make_unique<Matrix>(matrix_of(with, m.type_id, m.rows, m.cols)));
  }
  const Room room = {kAnywhere, kAnywhere, kAnywhere};
  Binder binder(table.data(), std::ssize(table) / spec::kTableColumns, shapes, numerics_at(numerics), room, with,
                threads,
                /*measuring=*/true);
  return measure(words.data(), std::ssize(words), binder);
}

}  // namespace lane::cpu
