#include "forms/tar_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ffkit {
namespace {

constexpr size_t kMaxNameBytes = 100;
constexpr int64_t kMaxOctalBytes = 077777777777;  // 8 GiB

// pax(1): "%d %s=%s\n", the number is that of the record's bytes, its own digits included.
std::string pax_record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t size = rest;
  while (rest + std::to_string(size).size() != size) size = rest + std::to_string(size).size();
  return fmt::format("{} {}={}\n", size, key, value);
}

// One header block; pax(1), "ustar Interchange Format".
std::string ustar_block(std::string_view name, int64_t num_bytes, char type) {
  std::string block(kTarBlockBytes, '\0');
  const auto put = [&block](size_t offset, std::string_view text) {
    std::memcpy(block.data() + offset, text.data(), text.size());
  };
  put(0, name.substr(0, kMaxNameBytes));
  put(100, "0000644");
  put(108, "0000000");  // user
  put(116, "0000000");  // group
  put(124, fmt::format("{:011o}", std::min(num_bytes, kMaxOctalBytes)));
  put(136, "00000000000");  // time of modification
  put(148, "        ");     // the checksum counts as spaces
  block[156] = type;
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  uint32_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  return block;
}

}  // namespace

std::string tar_header(std::string_view name, int64_t num_bytes) {
  const bool is_ascii =
      std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  std::string records;
  if (name.size() > kMaxNameBytes || !is_ascii) records += pax_record("path", name);
  if (num_bytes > kMaxOctalBytes) records += pax_record("size", std::to_string(num_bytes));
  if (records.empty()) return ustar_block(name, num_bytes, '0');
  std::string header = ustar_block("PaxHeaders/0", std::ssize(records), 'x') + records;
  header.append(static_cast<size_t>(tar_padding(std::ssize(records))), '\0');
  return header + ustar_block(name, num_bytes, '0');
}

}  // namespace ffkit
