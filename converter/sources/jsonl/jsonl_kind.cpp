#include <array>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>

#include "input/argument_values.h"

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kJsonlParameters = {
    SourceParameter{.name = "token-dtype", .help = "Data type for arrays of integers: u16, i32 (default) or i64", .type = SourceParameter::Type::text},
    SourceParameter{.name = "real-dtype", .help = "Data type for arrays of numbers that are not whole: f64 (default) or f32", .type = SourceParameter::Type::text},
    SourceParameter{"max-line-bytes", "Longest line; a longer one counts as bad. Parsing takes up to ten times its bytes in each thread", kMaxLineBytes, 1 << 10, 0xFFFFFFFF},
};
// clang-format on

DType token_dtype(const SourceArguments& a) {
  return dtype_of(a, "token-dtype", {DType::i32, DType::u16, DType::i64});
}

DType real_dtype(const SourceArguments& a) {
  return dtype_of(a, "real-dtype", {DType::f64, DType::f32});
}

std::unique_ptr<Source> open_jsonl_at(const SourceArguments& a) {
  return open_jsonl(a.path, {.token_dtype = token_dtype(a),
                             .real_dtype = real_dtype(a),
                             .max_line_bytes = a.number(kJsonlParameters[2]),
                             .temporary_folder = a.temporary_folder,
                             .num_threads = a.num_threads,
                             .cancel = a.cancel});
}

void check_jsonl(const SourceArguments& a) {
  static_cast<void>(token_dtype(a));
  static_cast<void>(real_dtype(a));
}

}  // namespace

// clang-format off
SourceKind jsonl_kind() {
  SourceKind kind{"jsonl", "JSON lines: texts, numbers and tokens, compressed or not; one file, or a folder of files", "/data/tokens /fast/tokens --token-dtype u16", true, kJsonlParameters, open_jsonl_at, check_jsonl};
  kind.place = 60;
  return kind;
}
// clang-format on

}  // namespace ffkit
