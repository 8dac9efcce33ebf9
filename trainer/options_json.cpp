#include "options_json.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

// Calls visit(name, member) for every option that a checkpoint holds.
template <typename Options, typename Visitor>
void for_each_option(Options& o, Visitor visit) {
  visit("data", o.data);
  visit("arch", o.arch);
  visit("pretrained", o.pretrained);
  visit("image_size", o.image_size);
  visit("crop_scale_min", o.crop_scale_min);
  visit("crop_scale_max", o.crop_scale_max);
  visit("eval_resize", o.eval_resize);
  visit("epochs", o.epochs);
  visit("batch_size", o.batch_size);
  visit("lr", o.lr);
  visit("lr_schedule", o.lr_schedule);
  visit("warmup_epochs", o.warmup_epochs);
  visit("lr_step_epochs", o.lr_step_epochs);
  visit("lr_gamma", o.lr_gamma);
  visit("momentum", o.momentum);
  visit("nesterov", o.nesterov);
  visit("weight_decay", o.weight_decay);
  visit("label_smoothing", o.label_smoothing);
  visit("seed", o.seed);
  visit("channels_last", o.channels_last);
  visit("threads", o.threads);
  visit("compute_threads", o.compute_threads);
  visit("limit_batches", o.limit_batches);
  visit("keep_checkpoints", o.keep_checkpoints);
}

Json encode(const auto& value) {
  return value;
}
Json encode(LrSchedule value) {
  return to_string(value);
}
Json encode(const std::filesystem::path& value) {
  return value.empty() ? std::string()
                       : std::filesystem::absolute(value).lexically_normal().string();
}

void decode(const Json& json, auto& value) {
  json.get_to(value);
}
void decode(const Json& json, LrSchedule& value) {
  value = parse_lr_schedule(json.get<std::string>());
}
void decode(const Json& json, std::filesystem::path& value) {
  value = json.get<std::string>();
}

}  // namespace

std::string options_to_json(const TrainOptions& options) {
  Json json = Json::object();
  for_each_option(options,
                  [&](const char* name, const auto& value) { json[name] = encode(value); });
  return json.dump();
}

TrainOptions options_from_json(const std::string& text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  TrainOptions options;
  for_each_option(options, [&](const char* name, auto& value) {
    try {
      decode(json.at(name), value);
    } catch (const Json::exception&) {
      throw Error(ErrorCode::corrupt,
                  std::string("option '") + name +
                      "' is missing or of another type; the checkpoint "
                      "was written by another version of fftrain or changed by hand",
                  {.path = path});
    }
  });
  return options;
}

}  // namespace ffkit
