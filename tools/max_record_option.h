// --max-record, the same in all tools that read or write records.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <CLI/CLI.hpp>

namespace ffkit {

// `max_record_bytes` holds the default and must outlive `app`.
inline CLI::Option* add_max_record_option(CLI::App& app, int64_t& max_record_bytes,
                                          const std::string& help) {
  return app.add_option("--max-record", max_record_bytes, help)
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->option_text("SIZE=256M");
}

}  // namespace ffkit
