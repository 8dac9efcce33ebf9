// Rows of nuScenes' tables, as they are read from JSON, and the tokens that name them.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/task_arena.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>

#include "base/machine/parallel_pipeline.h"
#include "converter/input/input_file.h"
#include "numbers/json_tables.h"

namespace ffkit::nuscenes {

// Tokens: the names of rows in nuScenes' tables, 32 hexadecimal digits, as 16 bytes; and where a
// table has which.

struct Token {
  uint64_t high = 0;
  uint64_t low = 0;

  // No row: what the tables write as "".
  bool is_none() const { return high == 0 && low == 0; }
  bool operator==(const Token&) const = default;
};

// False for what is not 32 lower-case hexadecimal digits, and for 32 zeros.
bool parse_token(std::string_view text, Token& out);
std::string to_string(const Token& token);

// Row numbers; kNoRow means no row.
using Row = uint32_t;
inline constexpr Row kNoRow = ~Row{0};

// Finds the row that has a token: an open-addressed table of row numbers, 8 to 16 bytes a row.
// Thread-safe once built.
class TokenIndex {
 public:
  TokenIndex() = default;
  // `tokens` must stay where they are as long as the index is used. Of equal tokens, the first's
  // row is found, and `repeated` tells the row of the second.
  explicit TokenIndex(std::span<const Token> tokens);

  Row find(const Token& token) const;
  Row repeated() const { return repeated_; }

 private:
  size_t slot_of(const Token& token) const;

  std::span<const Token> tokens_;
  std::vector<Row> slots_;
  size_t mask_ = 0;
  Row repeated_ = kNoRow;
};

// JSON rows: a table of nuScenes, one array of flat objects, read in parallel and handed over row
// by row, in order.
//
//   file ─▶ chunks of whole rows ─▶ parse (simdjson, each row alone) ─▶ take, in the file's order
//            one thread               all threads                         one thread
//
// Memory is a few chunks, whatever the size of the file.

// Ends messages on what is wrong with a table.
inline constexpr const char* kUnpackAgain = "unpack the metadata (v1.0-*_meta.tgz) again";

// The members of one row. All getters throw Error(corrupt) without a path, naming the row and the
// member.
class JsonRow {
 public:
  // `object` and `text`, which it was parsed from, must live as long as the row.
  JsonRow(const simdjson::dom::object& object, std::string_view text)
      : object_(object), text_(text) {}

  bool has(std::string_view key) const;
  Token token(std::string_view key) const;
  // "" means no token.
  Token token_or_none(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::string_view text(std::string_view key) const;  // lives as long as the row
  // Exactly out.size() finite numbers.
  void numbers(std::string_view key, std::span<double> out) const;
  // Those of an item, which may be bad: what is no number is NaN.
  void numbers_or_nan(std::string_view key, std::span<double> out) const;
  // Four finite numbers, qw, qx, qy, qz, of a length that can be brought to 1.
  void rotation(std::string_view key, std::span<double, 4> out) const;
  // As many numbers as there are: of calibrated_sensor's camera_intrinsic, [[..], [..], [..]] or
  // [], in row-major order.
  std::vector<double> matrix(std::string_view key) const;
  std::vector<Token> tokens(std::string_view key) const;

  // Throws Error(corrupt): "row <token> <what>; unpack ...".
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  simdjson::dom::element require(std::string_view key) const;
  // The member as a T; `otherwise`: the end of the message that it is something else.
  template <typename T>
  T value(std::string_view key, const char* otherwise) const;

  const simdjson::dom::object& object_;
  const std::string_view text_;
};

// Whole rows of the file, as text.
struct JsonChunk {
  std::vector<char> text;  // with simdjson::SIMDJSON_PADDING bytes behind the last row
  std::vector<std::pair<size_t, size_t>> rows;  // begin and length in `text`
  int64_t offset = 0;                           // of `text` in the file
};

// Cuts a file into chunks. Not thread-safe.
class JsonChunks {
 public:
  explicit JsonChunks(const std::filesystem::path& path) : file_(path) {}
  // The next chunk, or nothing at the end. Throws Error(corrupt) with the offset where the file is
  // no array of objects or cut short.
  std::unique_ptr<JsonChunk> next();

 private:
  void scan(JsonChunk& chunk, size_t num_bytes);
  [[noreturn]] void fail_at(const JsonChunk& chunk, size_t position, const std::string& what) const;

  enum class State : uint8_t { before, first, row, behind_row, end };
  const InputFile file_;
  int64_t offset_ = 0;          // of what is to be read next
  std::vector<char> leftover_;  // of the last chunk: the beginning of a row
  State state_ = State::before;
  bool is_done_ = false;
};

// Parses one row of a chunk: calls use(JsonRow). Errors get the file's path and the row's offset.
template <typename Use>
void parse_row(simdjson::dom::parser& parser, const std::filesystem::path& path,
               const JsonChunk& chunk, size_t number, const Use& use) {
  const std::pair<size_t, size_t> where = chunk.rows[number];
  const auto context = [&] {
    return ErrorContext{.path = path.string(),
                        .offset = chunk.offset + static_cast<int64_t>(where.first)};
  };
  const std::string_view text(chunk.text.data() + where.first, where.second);
  simdjson::dom::element value;
  simdjson::dom::object object;
  auto error = parse_as_python(parser, text, value);
  if (error == simdjson::SUCCESS) error = value.get_object().get(object);
  if (error != simdjson::SUCCESS) {
    throw Error(ErrorCode::corrupt,
                fmt::format("a row is not valid JSON: {}; {}", simdjson::error_message(error),
                            kUnpackAgain),
                context());
  }
  try {
    use(JsonRow(object, text));
  } catch (const Error& failure) {
    throw failure.within(context());
  }
}

// Calls make(const JsonRow&) for each row, from many threads, and take(what it returned) for each,
// in the file's order, one at a time. Throws the first Error in that order.
template <typename Made, typename Make, typename Take>
void read_rows(const std::filesystem::path& path, const Make& make, const Take& take) {
  struct Parsed {
    std::vector<Made> rows;
    std::optional<Error> error;
  };
  JsonChunks chunks(path);
  std::optional<Error> chunk_error;
  tbb::enumerable_thread_specific<simdjson::dom::parser> parsers;
  const auto read = [&](tbb::flow_control& control) -> std::shared_ptr<JsonChunk> {
    std::unique_ptr<JsonChunk> chunk;
    try {
      chunk = chunks.next();
    } catch (const Error& error) {
      chunk_error = error;
    }
    if (!chunk) control.stop();
    return chunk;
  };
  const auto parse = [&](const std::shared_ptr<JsonChunk>& chunk) {
    auto parsed = std::make_shared<Parsed>();
    parsed->rows.reserve(chunk->rows.size());
    try {
      for (size_t i = 0; i < chunk->rows.size(); ++i) {
        parse_row(parsers.local(), path, *chunk, i,
                  [&](const JsonRow& row) { parsed->rows.push_back(make(row)); });
      }
    } catch (const Error& error) {
      parsed->error = error;
    }
    return parsed;
  };
  const auto hand_over = [&](const std::shared_ptr<Parsed>& parsed) {
    for (Made& row : parsed->rows) take(std::move(row));
    if (parsed->error) throw Error(*parsed->error);
  };
  const int num_threads = usable_cores();
  tbb::task_arena(num_threads).execute([&] {
    tbb::parallel_pipeline(
        2 * static_cast<size_t>(num_threads),
        tbb::make_filter<void, std::shared_ptr<JsonChunk>>(tbb::filter_mode::serial_in_order,
                                                           read) &
            tbb::make_filter<std::shared_ptr<JsonChunk>, std::shared_ptr<Parsed>>(
                tbb::filter_mode::parallel, parse) &
            tbb::make_filter<std::shared_ptr<Parsed>, void>(tbb::filter_mode::serial_in_order,
                                                            hand_over));
  });
  if (chunk_error) throw Error(*chunk_error);
}

}  // namespace ffkit::nuscenes
