#include "files/safetensors.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/base/crc32c.h>

#include "base/json_text.h"
#include "base/little_endian.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "files/foreign_weights.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr char kCrcKey[] = "crc32c";
constexpr char kNoCrc[] = "00000000";
constexpr int64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation

template <typename... T>
[[noreturn]] void throw_corrupt_safetensors(const fs::path& path, fmt::format_string<T...> message,
                                            T&&... values) {
  throw error_at(path, ErrorCode::corrupt, "{}; the file is damaged, or is not a safetensors file",
                 fmt::format(message, std::forward<T>(values)...));
}

std::span<const std::byte> bytes_of(const at::Tensor& t) {
  return {static_cast<const std::byte*>(t.const_data_ptr()), t.nbytes()};
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The place of the CRC's digits in the text of a header: it holds them once, right after their key.
size_t crc_position(const std::string& header, const std::string& digits) {
  const size_t at = header.find(fmt::format("\"{}\":\"{}\"", kCrcKey, digits));
  return at == std::string::npos ? at : at + std::strlen(kCrcKey) + 4;
}

std::string make_header(const fs::path& path, const SafeTensors& contents) {
  Json header;
  Json& metadata = header["__metadata__"];
  metadata[kCrcKey] = kNoCrc;
  for (const auto& [key, value] : contents.metadata) metadata[key] = value;
  size_t offset = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    const auto* dtype = std::ranges::find(kFileTypes, tensor.scalar_type(), &FileType::type);
    if (dtype == kFileTypes.end() || dtype->safetensors.empty()) {
      throw Error(
          ErrorCode::unsupported,
          "the tensor '" + name + "' has a dtype that the safetensors format does not have");
    }
    header[name] = {{"dtype", dtype->safetensors},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + tensor.nbytes()}}};
    offset += tensor.nbytes();
  }
  std::string text = json_text(header, path);
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

// Reads and parses the header. `header_text` gets what was parsed.
Json read_header(const File& file, std::string& header_text) {
  std::array<std::byte, 8> length_bytes;
  const int64_t file_bytes = file.size();
  if (file_bytes == 0) refuse_foreign_weights(file);
  if (file_bytes < 8)
    throw_corrupt_safetensors(
        file.path(),
        "the file has only {} bytes, but its first 8 bytes must be the length of its header",
        file_bytes);
  file.read_at(0, length_bytes);
  const auto length = load_le<uint64_t>(length_bytes.data());
  std::array<std::byte, 1> first{std::byte{'{'}};
  if (file_bytes > 8) file.read_at(8, first);
  const bool is_longer = std::cmp_greater(length, file_bytes - 8);
  if (length < 2 || std::cmp_greater(length, kMaxHeaderBytes) ||
      (is_longer && first[0] != std::byte{'{'}))
    refuse_foreign_weights(file);
  if (std::cmp_greater(length, std::min(file_bytes - 8, kMaxHeaderBytes))) {
    throw_corrupt_safetensors(
        file.path(),
        "the header should have {} bytes, but only {} bytes follow its length in the file", length,
        file_bytes - 8);
  }
  header_text.resize(length);
  file.read_at(8, std::as_writable_bytes(std::span(header_text)));
  Json header = Json::parse(header_text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    throw_corrupt_safetensors(file.path(), "the header of the file is not a JSON object");
  return header;
}

std::map<std::string, std::string> parse_metadata(const fs::path& path, const Json& header) {
  std::map<std::string, std::string> metadata;
  const auto it = header.find("__metadata__");
  if (it == header.end() || it->is_null()) return metadata;
  if (!it->is_object()) throw_corrupt_safetensors(path, "'__metadata__' is not a JSON object");
  for (const auto& [key, value] : it->items()) {
    if (!value.is_string())
      throw_corrupt_safetensors(path, "the value of '{}' in '__metadata__' is not text", key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

struct Entry {
  std::string name;
  std::string dtype_name;
  std::optional<at::ScalarType> dtype;  // nothing: one that is not known here
  std::vector<int64_t> shape;
  int64_t begin = 0;
  int64_t end = 0;
};

[[noreturn]] void throw_impossible_shape(const fs::path& path, const std::string& name,
                                         const std::vector<int64_t>& shape) {
  throw_corrupt_safetensors(path, "tensor '{}' has an impossible shape, [{}]", printable(name),
                            fmt::join(shape, ", "));
}

// Checks one tensor of the header against its own shape; `data_bytes` is the length of all numbers.
Entry parse_entry(const fs::path& path, const std::string& name, const Json& json,
                  int64_t data_bytes) {
  Entry entry{.name = name};
  std::vector<int64_t> offsets;
  try {
    entry.dtype_name = json.at("dtype").get<std::string>();
    entry.shape = json.at("shape").get<std::vector<int64_t>>();
    offsets = json.at("data_offsets").get<std::vector<int64_t>>();
  } catch (const Json::exception&) {
    throw_corrupt_safetensors(path, "tensor '{}' has no valid dtype, shape or data_offsets",
                              printable(name));
  }
  const auto* dtype =
      std::ranges::find(kFileTypes, std::string_view(entry.dtype_name), &FileType::safetensors);
  if (dtype != kFileTypes.end() && !entry.dtype_name.empty()) entry.dtype = dtype->type;
  int64_t num_bytes = entry.dtype ? c10::elementSize(*entry.dtype) : 1;
  for (const int64_t extent : entry.shape) {
    if (extent < 0 || __builtin_mul_overflow(num_bytes, extent, &num_bytes))
      throw_impossible_shape(path, name, entry.shape);
  }
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > data_bytes ||
      (entry.dtype && offsets[1] - offsets[0] != num_bytes)) {
    throw_corrupt_safetensors(
        path,
        "tensor '{}' has {} bytes, but its 'data_offsets' are {} and the file "
        "has {} bytes of numbers",
        printable(name), num_bytes, fmt::join(offsets, " to "), data_bytes);
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

std::vector<Entry> parse_entries(const fs::path& path, const Json& header, int64_t data_bytes) {
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") entries.push_back(parse_entry(path, name, json, data_bytes));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    // One without numbers before the one that begins where it ends.
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != expected) {
      throw_corrupt_safetensors(
          path, "tensor '{}' starts at byte {} of the numbers, but must start at byte {}",
          entry.name, entry.begin, expected);
    }
    expected = entry.end;
  }
  if (expected != data_bytes) {
    throw_corrupt_safetensors(path,
                              "the file has {} bytes of numbers, but its tensors need {} bytes",
                              data_bytes, expected);
  }
  return entries;
}

// Empty, in the memory of `device`.
at::Tensor make_tensor(const fs::path& path, const Entry& entry, at::DeviceType device) {
  try {
    return at::empty(entry.shape, at::TensorOptions(*entry.dtype).device(device));
  } catch (const c10::Error&) {
    if (entry.end > entry.begin) throw std::bad_alloc();
    throw_impossible_shape(path, entry.name,
                           entry.shape);  // without numbers, but with extents whose product is none
  }
}

at::Tensor read_tensor(const File& file, int64_t data_begin, const Entry& entry) {
  at::Tensor tensor = make_tensor(file.path(), entry, at::kCPU);
  file.read_at(data_begin + entry.begin,
               {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()});
  return tensor;
}

void check_crc(const fs::path& path, std::string header_text, const std::string& digits,
               const std::vector<NamedTensor>& tensors) {
  const size_t at = crc_position(header_text, digits);
  if (at == std::string::npos)
    throw_corrupt_safetensors(path, "its CRC-32C does not have the expected form");
  header_text.replace(at, digits.size(), kNoCrc);
  uint32_t crc = crc32c(bytes_of(header_text));
  for (const NamedTensor& t : tensors) crc = crc32c(bytes_of(t.tensor), crc);
  const std::string computed = fmt::format("{:08x}", crc);
  if (computed != digits) {
    throw_corrupt_safetensors(path, "its CRC-32C is {}, expected {}", computed, digits);
  }
}

}  // namespace

void write_safetensors(const fs::path& path, const SafeTensors& contents) {
  std::string header = make_header(path, contents);
  std::vector<at::Tensor> dense;
  uint32_t crc = crc32c(bytes_of(header));
  for (const NamedTensor& t : contents.tensors) {
    dense.push_back(t.tensor.detach().contiguous());
    crc = crc32c(bytes_of(dense.back()), crc);
  }
  header.replace(crc_position(header, kNoCrc), sizeof(kNoCrc) - 1, fmt::format("{:08x}", crc));

  write_durably(path, [&](File& file) {
    const uint64_t length = header.size();
    file.write(std::as_bytes(std::span(&length, 1)));
    file.write(bytes_of(header));
    for (const at::Tensor& t : dense) file.write(bytes_of(t));
  });
}

struct SafeTensorsReader::Contents {
  std::string header_text;
  Json header;

  int64_t data_begin() const { return 8 + std::ssize(header_text); }
  // In the order of their numbers.
  const std::vector<Entry>& entries(const File& file) {
    if (!entries_) {
      entries_ = parse_entries(file.path(), header, file.size() - data_begin());
      for (const Entry& entry : *entries_) by_name_.emplace(entry.name, &entry);
    }
    return *entries_;
  }
  // Null where there is none, or one of a dtype that is not known here.
  const Entry* find(const File& file, const std::string& name) {
    entries(file);
    const auto it = by_name_.find(name);
    return it == by_name_.end() || !it->second->dtype ? nullptr : it->second;
  }

 private:
  std::optional<std::vector<Entry>> entries_;
  std::unordered_map<std::string_view, const Entry*> by_name_;
};

SafeTensorsReader::SafeTensorsReader(File file)
    : file_(std::move(file)), contents_(std::make_unique<Contents>()) {
  of_checkpoint(path(), [&] { contents_->header = read_header(file_, contents_->header_text); });
}
SafeTensorsReader::SafeTensorsReader(const fs::path& path)
    : SafeTensorsReader(of_checkpoint(path, [&] { return File::open_for_reading(path); })) {}

SafeTensorsReader::~SafeTensorsReader() = default;
SafeTensorsReader::SafeTensorsReader(SafeTensorsReader&&) noexcept = default;

std::map<std::string, std::string> SafeTensorsReader::metadata() const {
  return of_checkpoint(path(), [&] {
    auto metadata = parse_metadata(path(), contents_->header);
    metadata.erase(kCrcKey);
    return metadata;
  });
}

SafeTensors SafeTensorsReader::read_all() const {
  return of_checkpoint(path(), [&] {
    SafeTensors out{.tensors = {}, .metadata = parse_metadata(path(), contents_->header)};
    for (const Entry& entry : contents_->entries(file_)) {
      if (entry.dtype) {
        out.tensors.push_back({entry.name, read_tensor(file_, contents_->data_begin(), entry)});
      } else {
        out.unread.push_back(
            {entry.name, fmt::format("has the dtype '{}'", printable(entry.dtype_name))});
      }
    }
    if (const auto crc = out.metadata.find(kCrcKey); crc != out.metadata.end()) {
      check_crc(path(), contents_->header_text, crc->second, out.tensors);
      out.metadata.erase(crc);
      out.is_checked = true;
    }
    return out;
  });
}

at::Tensor SafeTensorsReader::description(const std::string& name) const {
  return of_checkpoint(path(), [&] {
    const Entry* entry = contents_->find(file_, name);
    return entry == nullptr ? at::Tensor() : make_tensor(path(), *entry, at::kMeta);
  });
}

at::Tensor SafeTensorsReader::read(const std::string& name) const {
  return of_checkpoint(path(), [&] {
    const Entry* entry = contents_->find(file_, name);
    if (entry == nullptr) throw error_at(path(), ErrorCode::not_found, "has no tensor '{}'", name);
    return read_tensor(file_, contents_->data_begin(), *entry);
  });
}

SafeTensors read_safetensors(const fs::path& path) {
  return SafeTensorsReader(path).read_all();
}

std::map<std::string, std::string> read_safetensors_metadata(const fs::path& path) {
  return SafeTensorsReader(path).metadata();
}

}  // namespace ffkit
