#include <fmt/format.h>

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
