#include "fixture.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include <opencv2/imgproc.hpp>

#include <ffkit/image/image_codec.h>

#include "fixture_files.h"

namespace ffkit::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExpected = ".expected.json";

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
  set_weights(fixture.weights, network);
}

}  // namespace ffkit::testing
