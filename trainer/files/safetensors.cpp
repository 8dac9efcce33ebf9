#include "files/safetensors.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <ffkit/format/crc32c.h>
#include <ffkit/format/error.h>

#include "files/durable_file.h"
#include "format/little_endian.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr char kCrcKey[] = "crc32c";
constexpr char kNoCrc[] = "00000000";
constexpr int64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation

struct DTypeName {
  at::ScalarType type;
  const char* name;
};
constexpr std::array kDTypes = {DTypeName{at::kFloat, "F32"}, DTypeName{at::kDouble, "F64"},
                                DTypeName{at::kHalf, "F16"},  DTypeName{at::kBFloat16, "BF16"},
                                DTypeName{at::kLong, "I64"},  DTypeName{at::kInt, "I32"},
                                DTypeName{at::kShort, "I16"}, DTypeName{at::kChar, "I8"},
                                DTypeName{at::kByte, "U8"},   DTypeName{at::kBool, "BOOL"}};

[[noreturn]] void throw_corrupt_safetensors(const fs::path& path, const std::string& message) {
  throw Error(ErrorCode::corrupt, message + "; the file is damaged or not a safetensors file",
              {.path = path.string()});
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

std::string make_header(const SafeTensors& contents) {
  Json header;
  Json& metadata = header["__metadata__"];
  metadata[kCrcKey] = kNoCrc;
  for (const auto& [key, value] : contents.metadata) metadata[key] = value;
  size_t offset = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    const auto dtype = std::find_if(kDTypes.begin(), kDTypes.end(),
                                    [&](DTypeName d) { return d.type == tensor.scalar_type(); });
    if (dtype == kDTypes.end()) {
      throw Error(ErrorCode::unsupported,
                  "tensor '" + name + "' has a dtype without a name in safetensors");
    }
    header[name] = {{"dtype", dtype->name},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + tensor.nbytes()}}};
    offset += tensor.nbytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

// Opens files, reads and parses the header. `header_text` gets what was parsed.
Json read_header(const File& file, std::string& header_text) {
  std::array<std::byte, 8> length_bytes;
  const int64_t file_bytes = file.size();
  if (file_bytes < 8)
    throw_corrupt_safetensors(file.path(), fmt::format("it has only {} bytes", file_bytes));
  file.read_at(0, length_bytes);
  const auto length = load_le<uint64_t>(length_bytes.data());
  if (length > uint64_t(std::min(file_bytes - 8, kMaxHeaderBytes))) {
    throw_corrupt_safetensors(
        file.path(),
        fmt::format("it says its header has {} bytes, but the file has {}", length, file_bytes));
  }
  header_text.resize(length);
  file.read_at(8, std::as_writable_bytes(std::span(header_text)));
  Json header = Json::parse(header_text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    throw_corrupt_safetensors(file.path(), "its header is not a JSON object");
  return header;
}

std::map<std::string, std::string> parse_metadata(const fs::path& path, const Json& header) {
  std::map<std::string, std::string> metadata;
  const auto it = header.find("__metadata__");
  if (it == header.end()) return metadata;
  if (!it->is_object()) throw_corrupt_safetensors(path, "'__metadata__' is not a JSON object");
  for (const auto& [key, value] : it->items()) {
    if (!value.is_string())
      throw_corrupt_safetensors(path, fmt::format("metadata '{}' is not text", key));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

struct Entry {
  std::string name;
  at::ScalarType dtype;
  std::vector<int64_t> shape;
  int64_t begin = 0;
  int64_t end = 0;
};

// Checks one tensor of the header against its own shape; `data_bytes` is the length of all numbers.
Entry parse_entry(const fs::path& path, const std::string& name, const Json& json,
                  int64_t data_bytes) {
  Entry entry{.name = name, .dtype = at::kFloat};
  std::string dtype_name;
  std::vector<int64_t> offsets;
  try {
    dtype_name = json.at("dtype").get<std::string>();
    entry.shape = json.at("shape").get<std::vector<int64_t>>();
    offsets = json.at("data_offsets").get<std::vector<int64_t>>();
  } catch (const Json::exception&) {
    throw_corrupt_safetensors(path,
                              fmt::format("tensor '{}' lacks dtype, shape or data_offsets", name));
  }
  const auto dtype = std::find_if(kDTypes.begin(), kDTypes.end(),
                                  [&](DTypeName d) { return d.name == dtype_name; });
  if (dtype == kDTypes.end()) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("tensor '{}' has the dtype '{}', which is not known here", name, dtype_name),
        {.path = path.string()});
  }
  entry.dtype = dtype->type;
  int64_t num_bytes = int64_t(c10::elementSize(entry.dtype));
  for (int64_t extent : entry.shape) {
    if (extent < 0 || __builtin_mul_overflow(num_bytes, extent, &num_bytes)) {
      throw_corrupt_safetensors(path, fmt::format("tensor '{}' has an impossible shape", name));
    }
  }
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > data_bytes ||
      offsets[1] - offsets[0] != num_bytes) {
    throw_corrupt_safetensors(
        path, fmt::format("tensor '{}' of {} bytes is said to lie at bytes {} of {}", name,
                          num_bytes, fmt::join(offsets, " to "), data_bytes));
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
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  int64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != expected) {
      throw_corrupt_safetensors(
          path, fmt::format("tensor '{}' starts at byte {} of the numbers, expected {}", entry.name,
                            entry.begin, expected));
    }
    expected = entry.end;
  }
  if (expected != data_bytes) {
    throw_corrupt_safetensors(
        path, fmt::format("it has {} bytes of numbers, expected {}", data_bytes, expected));
  }
  return entries;
}

at::Tensor read_tensor(const File& file, int64_t data_begin, const Entry& entry) {
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions(entry.dtype));
  file.read_at(data_begin + entry.begin,
               {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()});
  return tensor;
}

void check_crc(const fs::path& path, std::string header_text, const std::string& digits,
               const std::vector<NamedTensor>& tensors) {
  const size_t at = crc_position(header_text, digits);
  if (at == std::string::npos)
    throw_corrupt_safetensors(path, "its CRC-32C is not written as it should be");
  header_text.replace(at, digits.size(), kNoCrc);
  uint32_t crc = crc32c(bytes_of(header_text));
  for (const NamedTensor& t : tensors) crc = crc32c(bytes_of(t.tensor), crc);
  const std::string computed = fmt::format("{:08x}", crc);
  if (computed != digits) {
    throw_corrupt_safetensors(path,
                              fmt::format("its CRC-32C is {}, but {} is stored", computed, digits));
  }
}

}  // namespace

void write_safetensors(const fs::path& path, const SafeTensors& contents) {
  std::string header = make_header(contents);
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

SafeTensors read_safetensors(const fs::path& path) {
  const File file = File::open_for_reading(path);
  std::string header_text;
  const Json header = read_header(file, header_text);
  SafeTensors contents{.tensors = {}, .metadata = parse_metadata(path, header)};
  const int64_t data_begin = 8 + int64_t(header_text.size());
  for (const Entry& entry : parse_entries(path, header, file.size() - data_begin)) {
    contents.tensors.push_back({entry.name, read_tensor(file, data_begin, entry)});
  }
  if (const auto crc = contents.metadata.find(kCrcKey); crc != contents.metadata.end()) {
    check_crc(path, std::move(header_text), crc->second, contents.tensors);
    contents.metadata.erase(crc);
    contents.is_checked = true;
  }
  return contents;
}

std::map<std::string, std::string> read_safetensors_metadata(const fs::path& path) {
  std::string header_text;
  const File file = File::open_for_reading(path);
  auto metadata = parse_metadata(path, read_header(file, header_text));
  metadata.erase(kCrcKey);
  return metadata;
}

struct SafeTensorsReader::Contents {
  int64_t data_begin = 0;
  std::unordered_map<std::string, Entry> entries;
};

SafeTensorsReader::SafeTensorsReader(const fs::path& path)
    : file_(File::open_for_reading(path)), contents_(std::make_unique<Contents>()) {
  std::string header_text;
  const Json header = read_header(file_, header_text);
  contents_->data_begin = 8 + int64_t(header_text.size());
  for (Entry& entry : parse_entries(path, header, file_.size() - contents_->data_begin))
    contents_->entries.emplace(entry.name, std::move(entry));
}

SafeTensorsReader::~SafeTensorsReader() = default;
SafeTensorsReader::SafeTensorsReader(SafeTensorsReader&&) noexcept = default;

at::Tensor SafeTensorsReader::description(const std::string& name) const {
  const auto it = contents_->entries.find(name);
  if (it == contents_->entries.end()) return {};
  return at::empty(it->second.shape, at::TensorOptions(it->second.dtype).device(at::kMeta));
}

at::Tensor SafeTensorsReader::read(const std::string& name) const {
  const auto it = contents_->entries.find(name);
  if (it == contents_->entries.end()) {
    throw Error(ErrorCode::not_found, fmt::format("holds no tensor '{}'", name),
                {.path = path().string()});
  }
  return read_tensor(file_, contents_->data_begin, it->second);
}

}  // namespace ffkit
