#include "fixture.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>

#include <opencv2/imgproc.hpp>

#include <ffkit/image/image_codec.h>

#include "converter/sources/numbers/npy_header.h"

namespace ffkit::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExpected = ".expected.json";

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

// [3, H, W] f32
at::Tensor read_picture(const nlohmann::json& jpeg, const nlohmann::json& config,
                        const fs::path& root) {
  const auto file = jpeg["file"].get<std::string>();
  const size_t begin = file.find("__") + 2;
  const fs::path path =
      root / "samples" / file.substr(begin, file.find("__", begin) - begin) / file;
  const std::vector<char> bytes = read_all(path);
  ImageDecoder decoder;
  const RgbView view = decoder.decode(std::as_bytes(std::span(bytes)));
  const cv::Mat rgb(view.height, view.width, CV_8UC3, const_cast<uint8_t*>(view.data),
                    static_cast<size_t>(view.stride));
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  const auto crc = crc32(0, bgr.data, static_cast<uInt>(bgr.total() * bgr.elemSize()));
  if (crc != jpeg["crc32_bgr"].get<uint32_t>()) {
    fail(path.string() + ": has other pixels than the fixture's picture");
  }
  const nlohmann::json& norm = config["image_norm"];
  cv::Mat values;
  (norm["to_rgb"].get<bool>() ? rgb : bgr).convertTo(values, CV_32FC3);
  // As MMCV's imnormalize(): in float32, by the inverse of the standard deviation.
  for (int row = 0; row < values.rows; ++row) {
    auto* at = values.ptr<cv::Vec3f>(row);
    for (int column = 0; column < values.cols; ++column) {
      for (int c = 0; c < 3; ++c) {
        const auto mean = norm["mean"][static_cast<size_t>(c)].get<double>();
        const auto std = norm["std"][static_cast<size_t>(c)].get<double>();
        at[column][c] = static_cast<float>((double(at[column][c]) - mean) * (1 / std));
      }
    }
  }
  const auto scale = config["image_scale"].get<double>();
  if (scale != 1) {
    cv::Mat resized;
    cv::resize(values, resized,
               {static_cast<int>(view.width * scale), static_cast<int>(view.height * scale)}, 0, 0,
               cv::INTER_LINEAR);
    values = resized;
  }
  at::Tensor padded =
      at::zeros({3, config["img_shape"][0].get<int64_t>(), config["img_shape"][1].get<int64_t>()});
  padded.narrow(1, 0, values.rows)
      .narrow(2, 0, values.cols)
      .copy_(at::from_blob(values.data, {values.rows, values.cols, 3},
                           {static_cast<int64_t>(values.step1()), 3, 1}, at::kFloat)
                 .permute({2, 0, 1}));
  return padded;
}

}  // namespace

BevFormerConfig Fixture::config() const {
  const nlohmann::json& c = expected["config"];
  BevFormerConfig out;
  out.embed_dims = c["embed_dims"];
  out.ffn_dims = c["ffn_dims"];
  out.num_heads = c["num_heads"];
  out.bev_rows = c["bev_h"];
  out.bev_columns = c["bev_w"];
  out.num_queries = c["num_query"];
  out.num_classes = c["num_classes"];
  out.encoder_layers = c["encoder_layers"];
  out.decoder_layers = c["decoder_layers"];
  out.pillar_points = c["num_points_in_pillar"];
  out.history_points = c["tsa_points"];
  out.camera_points = c["sca_points"];
  out.decoder_points = c["decoder_points"];
  out.backbone_stages = c["backbone_out_indices"].get<std::vector<int64_t>>();
  out.pyramid_levels = c["feature_levels"];
  out.frozen_stages = c["frozen_stages"];
  out.rotation_center = c["rotate_center"].get<std::array<double, 2>>();
  out.range = c["pc_range"].get<std::array<double, 6>>();
  out.code_weights = c["code_weights"].get<std::vector<double>>();
  out.dropout = 0;
  return out;
}

std::vector<std::string> fixture_names(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (file.ends_with(kExpected)) names.insert(file.substr(0, file.size() - kExpected.size()));
  }
  return {names.begin(), names.end()};
}

Fixture read_fixture(const fs::path& folder, const std::string& name) {
  Fixture fixture{.name = name, .expected = read_json(folder / (name + std::string(kExpected)))};
  // The fixtures of one model share its weights.
  std::string model = name;
  while (!fs::exists(folder / (model + ".weights.json"))) {
    const size_t end = model.rfind('_');
    if (end == std::string::npos) fail(fmt::format("{}: has no file of weights", name));
    model.resize(end);
  }
  fixture.weights = read_json(folder / (model + ".weights.json"));
  fixture.arrays = read_npz(folder / (name + ".expected.npz"));
  return fixture;
}

std::vector<BevFrame> read_frames(const Fixture& fixture, const fs::path& root) {
  const nlohmann::json& config = fixture.expected["config"];
  const at::Tensor& matrices = fixture.arrays.at("lidar2img");
  const at::Tensor& can_bus = fixture.arrays.at("can_bus");
  const int64_t num_frames = matrices.size(0), cameras = matrices.size(1);
  std::vector<BevFrame> frames;
  for (int64_t i = 0; i < num_frames; ++i) {
    std::vector<at::Tensor> pictures;
    for (int64_t c = 0; c < cameras; ++c) {
      pictures.push_back(read_picture(
          fixture.expected["jpeg"][static_cast<size_t>(i * cameras + c)], config, root));
    }
    frames.push_back({.images = at::stack(pictures).unsqueeze(0),
                      .lidar2img = matrices[i].unsqueeze(0).to(at::kDouble),
                      .can_bus = can_bus[i].unsqueeze(0).to(at::kDouble),
                      .has_previous = at::tensor({i > 0 ? 1 : 0}).to(at::kBool)});
  }
  return frames;
}

void set_weights(const Fixture& fixture, BevFormerNetwork& network) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> own;
  for (const auto& item : network.named_parameters()) own[item.key()] = item.value();
  for (const auto& item : network.named_buffers()) own[item.key()] = item.value();
  for (const nlohmann::json& entry : fixture.weights["entries"]) {
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
