#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include <ffkit/converter/options.h>
#include <ffkit/format/compression.h>
#include <ffkit/format/error.h>

namespace ffkit {

const char* to_string(RecordOrder order) {
  return order == RecordOrder::shuffled ? "shuffled" : "source";
}

RecordOrder parse_record_order(std::string_view name) {
  if (name == "shuffled") return RecordOrder::shuffled;
  if (name == "source") return RecordOrder::source;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the order is '{}'; it must be shuffled or source", name));
}

const char* to_string(OnError on_error) {
  switch (on_error) {
    case OnError::fail:
      return "fail";
    case OnError::skip:
      return "skip";
    case OnError::keep:
      return "keep";
  }
  throw std::logic_error("unknown OnError");
}

OnError parse_on_error(std::string_view name) {
  for (const OnError on_error : {OnError::fail, OnError::skip, OnError::keep}) {
    if (name == to_string(on_error)) return on_error;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("on-error is '{}'; it must be fail, skip or keep", name));
}

const char* to_string(ReadMode mode) {
  switch (mode) {
    case ReadMode::automatic:
      return "auto";
    case ReadMode::direct:
      return "direct";
    case ReadMode::gather:
      return "gather";
  }
  throw std::logic_error("unknown ReadMode");
}

ReadMode parse_read_mode(std::string_view name) {
  for (const ReadMode mode : {ReadMode::automatic, ReadMode::direct, ReadMode::gather}) {
    if (name == to_string(mode)) return mode;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("read is '{}'; it must be auto, direct or gather", name));
}

ConvertPart parse_part(std::string_view text) {
  ConvertPart part;
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, part.index);
  if (error == std::errc{} && slash != end && *slash == '/') {
    const auto [last, error_of_count] = std::from_chars(slash + 1, end, part.count);
    if (error_of_count == std::errc{} && last == end && part.count >= 1 && part.index >= 1 &&
        part.index <= part.count) {
      return part;
    }
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the part is '{}'; it must be i/n with i from 1 to n, as 2/8", text));
}

void validate(const ConvertOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw Error(ErrorCode::invalid_argument, message);
  };
  require(options.num_threads >= 0 && options.num_threads <= 1024,
          fmt::format("the number of threads is {}; it must be 0 (one a processor) .. 1024",
                      options.num_threads));
  require(
      options.shard_bytes >= (1LL << 20) && options.shard_bytes <= (1LL << 40),
      fmt::format("the shard size is {} bytes; it must be 1 MiB .. 1 TiB", options.shard_bytes));
  require(options.max_bytes_in_flight >= (1LL << 20),
          fmt::format("the memory for samples is {} bytes; it must be 1 MiB or more",
                      options.max_bytes_in_flight));
  require(options.max_record_bytes >= 1,
          fmt::format("the limit on a record's bytes is {}; it must be 1 or more",
                      options.max_record_bytes));
  require(options.part.count >= 1 && options.part.index >= 1 &&
              options.part.index <= options.part.count,
          fmt::format("the part is {}/{}; it must be i/n with i from 1 to n", options.part.index,
                      options.part.count));
  require(options.zstd_level >= -7 && options.zstd_level <= 22,
          fmt::format("the zstd level is {}; it must be -7 .. 22", options.zstd_level));
  require(options.zstd_dictionary_bytes == 0 || options.zstd_level != 0,
          "a zstd dictionary serves only compressed records; give a zstd level as well");
  require(
      options.zstd_dictionary_bytes == 0 || (options.zstd_dictionary_bytes >= 256 &&
                                             options.zstd_dictionary_bytes <= kMaxDictionaryBytes),
      fmt::format("the zstd dictionary has {} bytes; it must have 256 bytes .. 16 MiB",
                  options.zstd_dictionary_bytes));
}

}  // namespace ffkit
