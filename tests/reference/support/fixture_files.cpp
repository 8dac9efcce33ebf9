#include "fixture_files.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>

#include "format/schema/npy_header.h"

namespace ffkit::testing {
namespace {

namespace fs = std::filesystem;

at::ScalarType torch_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return at::kByte;
    case DType::i32:
      return at::kInt;
    case DType::i64:
      return at::kLong;
    case DType::f32:
      return at::kFloat;
    case DType::f64:
      return at::kDouble;
    default:
      fail("an array has a type that no fixture has");
  }
}

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

uint64_t split_mix(uint64_t& state) {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// An entry is [name, shape, rule, first value, sum, sum of absolute values].
at::Tensor formula(const nlohmann::json& entry, const at::Tensor& present) {
  const auto name = entry[0].get<std::string>();
  const nlohmann::json& rule = entry[2];
  if (rule[0] == "keep") return present.to(at::kFloat);
  at::Tensor values = at::zeros(entry[1].get<std::vector<int64_t>>(), at::kFloat);
  if (rule[0] == "zero") return values;
  const auto scale = rule[0].get<double>();
  std::vector<double> offsets(static_cast<size_t>(rule.size() > 2 ? values.numel() : 1),
                              rule[1].get<double>());
  if (rule.size() > 2) {
    for (const auto& [index, offset] : rule[2].items()) offsets.at(std::stoul(index)) = offset;
  }
  uint64_t state = fnv1a(name);
  auto* out = values.mutable_data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    const double u = static_cast<double>(split_mix(state) >> 40) * 0x1p-24;
    out[i] = static_cast<float>((u - 0.5) * 2 * scale +
                                offsets[offsets.size() > 1 ? static_cast<size_t>(i) : 0]);
  }
  return values;
}

void check_weights(const nlohmann::json& entry, const at::Tensor& values) {
  const at::Tensor wide = values.to(at::kDouble);
  const std::array own = {wide.flatten()[0].item<double>(), wide.sum().item<double>(),
                          wide.abs().sum().item<double>()};
  for (size_t i = 0; i < own.size(); ++i) {
    const auto wanted = entry[3 + i].get<double>();
    if (std::abs(own[i] - wanted) > 1e-6 * (1 + own[2])) {
      fail(fmt::format("{}: the formula gives {}, the fixture has {}", entry[0].dump(), own[i],
                       wanted));
    }
  }
}

}  // namespace

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

nlohmann::json read_json(const fs::path& file) {
  std::ifstream in(file);
  if (!in) fail(file.string() + ": cannot be opened");
  return nlohmann::json::parse(in);
}

std::vector<char> read_all(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file.string() + ": cannot be opened");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::map<std::string, at::Tensor> read_npz(const fs::path& file) {
  const std::unique_ptr<archive, decltype(&archive_read_free)> zip(archive_read_new(),
                                                                   archive_read_free);
  archive_read_support_format_zip(zip.get());
  constexpr size_t kBlock = 64 << 10;
  if (archive_read_open_filename(zip.get(), file.c_str(), kBlock) != ARCHIVE_OK) {
    fail(file.string() + ": cannot be read as a zip");
  }
  std::map<std::string, at::Tensor> arrays;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(zip.get(), &entry) == ARCHIVE_OK) {
    const std::string name = archive_entry_pathname(entry);
    std::vector<std::byte> bytes(static_cast<size_t>(archive_entry_size(entry)));
    if (archive_read_data(zip.get(), bytes.data(), bytes.size()) !=
        static_cast<la_ssize_t>(bytes.size())) {
      fail(fmt::format("{}: '{}' is cut off", file.string(), name));
    }
    const NpyHeader header = read_npy_header(bytes);
    arrays[name.substr(0, name.size() - std::string_view(".npy").size())] =
        at::from_blob(bytes.data() + header.data_offset, header.shape, torch_type(header.dtype))
            .clone();
  }
  return arrays;
}

void set_weights(const nlohmann::json& weights, torch::nn::Module& network) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> own;
  for (const auto& item : network.named_parameters()) own[item.key()] = item.value();
  for (const auto& item : network.named_buffers()) own[item.key()] = item.value();
  for (const nlohmann::json& entry : weights["entries"]) {
    const auto name = entry[0].get<std::string>();
    const auto found = own.find(name);
    if (found == own.end()) fail(name + ": the network has no such tensor");
    if (found->second.sizes() != entry[1].get<std::vector<int64_t>>()) {
      fail(fmt::format("{}: the network has another shape than {}", name, entry[1].dump()));
    }
    const at::Tensor values = formula(entry, found->second);
    check_weights(entry, values);
    found->second.copy_(values);
    own.erase(found);
  }
  if (!own.empty()) fail(own.begin()->first + ": the fixture has no such tensor");
}

}  // namespace ffkit::testing
