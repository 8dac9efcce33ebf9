#include "model/model_registry.h"

#include <fmt/args.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/make_error.h"

namespace ffkit {

const ModelEntry& ModelRegistry::find(std::string_view name) const {
  for (const ModelEntry& entry : entries_) {
    if (entry.name == name) return entry;
  }
  throw error_of(ErrorCode::invalid_argument, "unknown arch '{}'; expected one of {}", name,
                 fmt::join(names(), ", "));
}

std::vector<std::string> ModelRegistry::names() const {
  std::vector<std::string> names;
  for (const ModelEntry& entry : entries_) names.push_back(entry.name);
  return names;
}

namespace {

// What a pattern found: the whole, and its groups.
using Match = std::vector<std::string>;

struct Rule {
  const char* pattern;  // of the beginning of a name; POSIX, for <regex> takes seconds to compile
  std::function<std::string(const Match&)> name;
};
using Rules = std::vector<Rule>;

// `name` with the groups in place of its {1} and {2}.
Rule rule(const char* pattern, const char* name) {
  return {pattern, [name](const Match& m) {
            fmt::dynamic_format_arg_store<fmt::format_context> groups;
            for (const std::string& group : m) groups.push_back(group);
            return fmt::vformat(name, groups);
          }};
}
template <typename Name>
Rule rule(const char* pattern, Name name) {
  return {pattern, name};
}

// Empty where `name` does not begin with the pattern.
Match match_of(const char* pattern, const std::string& name) {
  regex_t compiled;
  Match match;
  if (::regcomp(&compiled, pattern, REG_EXTENDED) != 0) return match;
  std::vector<regmatch_t> groups(compiled.re_nsub + 1);
  if (::regexec(&compiled, name.c_str(), groups.size(), groups.data(), 0) == 0) {
    for (const regmatch_t& g : groups) {
      match.push_back(g.rm_so < 0 ? "" : name.substr(g.rm_so, g.rm_eo - g.rm_so));
    }
  }
  ::regfree(&compiled);
  return match;
}

// The number in the group, and how far it is above `base`.
int number(const Match& m, size_t group, int base = 0) {
  return std::stoi(m[group]) - base;
}

Rules resnet_of_transformers() {
  return {rule("^conv1\\.", "resnet.embedder.embedder.convolution."),
          rule("^bn1\\.", "resnet.embedder.embedder.normalization."),
          rule("^fc\\.", "classifier.1."),
          rule("^layer([0-9])\\.([0-9]+)\\.(conv|bn)([0-9])\\.",
               [](const Match& m) {
                 return fmt::format("resnet.encoder.stages.{}.layers.{}.layer.{}.{}.",
                                    number(m, 1, 1), m[2], number(m, 4, 1),
                                    m[3] == "conv" ? "convolution" : "normalization");
               }),
          rule("^layer([0-9])\\.([0-9]+)\\.downsample\\.([0-9])\\.", [](const Match& m) {
            return fmt::format("resnet.encoder.stages.{}.layers.{}.shortcut.{}.", number(m, 1, 1),
                               m[2], m[3] == "0" ? "convolution" : "normalization");
          })};
}

Rules vit_of_timm() {
  return {rule("^class_token", "cls_token"),
          rule("^conv_proj\\.", "patch_embed.proj."),
          rule("^encoder\\.pos_embedding", "pos_embed"),
          rule("^encoder\\.ln\\.", "norm."),
          rule("^heads\\.head\\.", "head."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.ln_([0-9])\\.", "blocks.{1}.norm{2}."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.self_attention\\.in_proj_",
               "blocks.{1}.attn.qkv."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.self_attention\\.out_proj\\.",
               "blocks.{1}.attn.proj."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.mlp\\.0\\.", "blocks.{1}.mlp.fc1."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.mlp\\.3\\.", "blocks.{1}.mlp.fc2.")};
}

// As the hub's files have them, which all versions of transformers read.
Rules vit_of_transformers() {
  return {rule("^class_token", "vit.embeddings.cls_token"),
          rule("^conv_proj\\.", "vit.embeddings.patch_embeddings.projection."),
          rule("^encoder\\.pos_embedding", "vit.embeddings.position_embeddings"),
          rule("^encoder\\.ln\\.", "vit.layernorm."),
          rule("^heads\\.head\\.", "classifier."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.ln_1\\.",
               "vit.encoder.layer.{1}.layernorm_before."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.ln_2\\.",
               "vit.encoder.layer.{1}.layernorm_after."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.self_attention\\.(query|key|value)\\.",
               "vit.encoder.layer.{1}.attention.attention.{2}."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.self_attention\\.out_proj\\.",
               "vit.encoder.layer.{1}.attention.output.dense."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.mlp\\.0\\.",
               "vit.encoder.layer.{1}.intermediate.dense."),
          rule("^encoder\\.layers\\.encoder_layer_([0-9]+)\\.mlp\\.3\\.",
               "vit.encoder.layer.{1}.output.dense.")};
}

// Words of a library for the parts of a ConvNeXt.
struct ConvNextWords {
  const char* stem;
  std::array<const char*, 2> stem_parts;  // convolution and norm
  const char* stage;                      // before the number of a stage
  const char* block;                      // before that of a block in it
  const char* downsampling;
  std::array<const char*, 5> parts;  // convolution, norm, two linear layers, scale
  const char* norm;
  const char* head;
};

Rules convnext_rules(const ConvNextWords& w) {
  return {rule("^features\\.0\\.([0-9])\\.",
               [w](const Match& m) {
                 return fmt::format("{}{}.", w.stem, w.stem_parts.at(number(m, 1)));
               }),
          rule("^features\\.([1357])\\.([0-9]+)\\.(block\\.([0235])\\.|layer_scale)",
               [w](const Match& m) {
                 constexpr std::array<size_t, 6> kPart = {0, 0, 1, 2, 0, 3};
                 const bool is_scale = m[3] == "layer_scale";
                 const size_t part = is_scale ? 4 : kPart.at(number(m, 4));
                 return fmt::format("{}{}.{}{}.{}{}", w.stage, number(m, 1) / 2, w.block, m[2],
                                    w.parts.at(part), is_scale ? "" : ".");
               }),
          rule("^features\\.([246])\\.([0-9])\\.",
               [w](const Match& m) {
                 return fmt::format("{}{}.{}{}.", w.stage, number(m, 1) / 2, w.downsampling, m[2]);
               }),
          rule("^classifier\\.0\\.", w.norm), rule("^classifier\\.2\\.", w.head)};
}

constexpr ConvNextWords kTimmConvNext = {
    "stem.",      {"0", "1"},    "stages.",
    "blocks.",    "downsample.", {"conv_dw", "norm", "mlp.fc1", "mlp.fc2", "gamma"},
    "head.norm.", "head.fc."};
constexpr ConvNextWords kTransformersConvNext = {
    "convnext.embeddings.",
    {"patch_embeddings", "layernorm"},
    "convnext.encoder.stages.",
    "layers.",
    "downsampling_layer.",
    {"dwconv", "layernorm", "pwconv1", "pwconv2", "layer_scale_parameter"},
    "convnext.layernorm.",
    "classifier."};

// timm's names of convolution and norm in a block that expands its channels, and in one that does
// not.
constexpr std::array kExpanding = {std::pair("conv_pw", "bn1"), std::pair("conv_dw", "bn2"),
                                   std::pair("conv_pwl", "bn3")};
constexpr std::array kPlain = {std::pair("conv_dw", "bn1"), std::pair("conv_pw", "bn2")};

std::string timm_part(bool expands, size_t step, bool is_norm) {
  const auto& part = expands ? kExpanding.at(step) : kPlain.at(step);
  return is_norm ? part.second : part.first;
}

Rules efficientnet_of_timm() {
  return {rule("^features\\.0\\.0\\.", "conv_stem."),
          rule("^features\\.0\\.1\\.", "bn1."),
          rule("^features\\.8\\.0\\.", "conv_head."),
          rule("^features\\.8\\.1\\.", "bn2."),
          rule("^classifier\\.1\\.", "classifier."),
          rule("^features\\.([0-9])\\.([0-9]+)\\.block\\.[0-9]\\.fc([0-9])\\.",
               [](const Match& m) {
                 return fmt::format("blocks.{}.{}.se.{}.", number(m, 1, 1), m[2],
                                    m[3] == "1" ? "conv_reduce" : "conv_expand");
               }),
          rule("^features\\.([0-9])\\.([0-9]+)\\.block\\.([0-9])\\.([0-9])\\.", [](const Match& m) {
            const bool expands = number(m, 1) > 1;
            const int squeeze = expands ? 2 : 1;  // the step of the squeeze, which is named above
            const int step = number(m, 3) - (number(m, 3) > squeeze ? 1 : 0);
            return fmt::format("blocks.{}.{}.{}.", number(m, 1, 1), m[2],
                               timm_part(expands, step, m[4] == "1"));
          })};
}

Rules mobilenet_v2_of_timm() {
  const auto place = [](int feature) {
    constexpr std::array kDepths = {1, 2, 3, 4, 3, 3, 1};
    int stage = 0, block = feature - 1;
    for (; block >= kDepths.at(stage); ++stage) block -= kDepths.at(stage);
    return fmt::format("blocks.{}.{}.", stage, block);
  };
  return {rule("^features\\.0\\.0\\.", "conv_stem."), rule("^features\\.0\\.1\\.", "bn1."),
          rule("^features\\.18\\.0\\.", "conv_head."), rule("^features\\.18\\.1\\.", "bn2."),
          rule("^classifier\\.1\\.", "classifier."),
          rule("^features\\.([0-9]+)\\.conv\\.([0-9])\\.([0-9])\\.",
               [place](const Match& m) {
                 return fmt::format("{}{}.", place(number(m, 1)),
                                    timm_part(number(m, 1) > 1, number(m, 2), m[3] == "1"));
               }),
          // The projection is no block of its own.
          rule("^features\\.([0-9]+)\\.conv\\.([0-9])\\.", [place](const Match& m) {
            const bool expands = number(m, 1) > 1;
            const int first = expands ? 2 : 1;
            return fmt::format("{}{}.", place(number(m, 1)),
                               timm_part(expands, first, number(m, 2) > first));
          })};
}

[[noreturn]] void refuse_library(const std::string& library, const std::string& model,
                                 const std::string& known) {
  throw error_of(ErrorCode::unsupported,
                 "ffkit does not know the names of {} for the tensors of torchvision's {}; ffkit "
                 "knows these names for {}",
                 library, model, known);
}

Rules rules_of(const std::string& library, const std::string& model) {
  if (library == "timm") {
    if (model.find("resne") != std::string::npos) return {};  // resnet, wide_resnet, resnext
    if (model == "vit_b_16") return vit_of_timm();
    if (model == "convnext_tiny") return convnext_rules(kTimmConvNext);
    if (model == "efficientnet_b0") return efficientnet_of_timm();
    if (model == "mobilenet_v2") return mobilenet_v2_of_timm();
    refuse_library(library, model,
                   "ResNets, ResNeXts, Wide ResNets, vit_b_16, convnext_tiny, efficientnet_b0 and "
                   "mobilenet_v2");
  }
  if (library == "transformers") {
    if (model.starts_with("resnet")) return resnet_of_transformers();
    if (model == "vit_b_16") return vit_of_transformers();
    if (model == "convnext_tiny") return convnext_rules(kTransformersConvNext);
    refuse_library(library, model, "ResNets, vit_b_16 and convnext_tiny");
  }
  throw error_of(ErrorCode::invalid_argument,
                 "unknown library '{}'; expected one of torchvision, timm, transformers", library);
}

}  // namespace

void use_names_of(const std::string& library, const std::string& model,
                  std::vector<NamedTensor>& tensors) {
  if (library == "torchvision") return;
  const Rules rules = rules_of(library, model);
  // transformers has three tensors for what torchvision has in one.
  constexpr std::string_view kAttention = ".in_proj_";
  std::vector<NamedTensor> out;
  for (const NamedTensor& t : tensors) {
    const size_t at = library == "transformers" ? t.name.find(kAttention) : std::string::npos;
    if (at == std::string::npos) {
      out.push_back(t);
      continue;
    }
    const std::vector<at::Tensor> parts = t.tensor.chunk(3);
    for (size_t i = 0; i < 3; ++i) {
      constexpr std::array kParts = {"query", "key", "value"};
      out.push_back({fmt::format("{}.{}.{}", t.name.substr(0, at), kParts.at(i),
                                 t.name.substr(at + kAttention.size())),
                     parts[i]});
    }
  }
  for (NamedTensor& t : out) {
    if (t.name.ends_with(".layer_scale")) t.tensor = t.tensor.flatten();
    for (const Rule& r : rules) {
      const Match match = match_of(r.pattern, t.name);
      if (match.empty()) continue;
      t.name = r.name(match) + t.name.substr(match[0].size());
      break;
    }
  }
  tensors = std::move(out);
}

std::string transformers_config(const std::string& model, int64_t image_size,
                                const std::vector<std::string>& classes) {
  nlohmann::ordered_json json;
  if (model == "vit_b_16") {
    json = {{"architectures", {"ViTForImageClassification"}},
            {"model_type", "vit"},
            {"image_size", image_size},
            {"patch_size", 16},
            {"hidden_size", 768},
            {"num_hidden_layers", 12},
            {"num_attention_heads", 12},
            {"intermediate_size", 3072},
            {"layer_norm_eps", 1e-6}};
  } else if (model == "convnext_tiny") {
    json = {{"architectures", {"ConvNextForImageClassification"}},
            {"model_type", "convnext"},
            {"depths", {3, 3, 9, 3}},
            {"hidden_sizes", {96, 192, 384, 768}},
            {"layer_norm_eps", 1e-6}};
  } else {
    const bool is_basic = model == "resnet18" || model == "resnet34";
    const std::vector<int> hidden =
        is_basic ? std::vector{64, 128, 256, 512} : std::vector{256, 512, 1024, 2048};
    const int third = model == "resnet18"    ? 2
                      : model == "resnet101" ? 23
                      : model == "resnet152" ? 36
                                             : 6;
    const int second = model == "resnet18" ? 2 : model == "resnet152" ? 8 : 4;
    const int outer = model == "resnet18" ? 2 : 3;
    json = {{"architectures", {"ResNetForImageClassification"}},
            {"model_type", "resnet"},
            {"layer_type", is_basic ? "basic" : "bottleneck"},
            {"depths", {outer, second, third, outer}},
            {"embedding_size", 64},
            {"hidden_sizes", hidden}};
  }
  nlohmann::ordered_json names = nlohmann::ordered_json::object(), numbers = names;
  for (size_t i = 0; i < classes.size(); ++i) {
    names[std::to_string(i)] = classes[i];
    numbers[classes[i]] = i;
  }
  json["id2label"] = names;
  json["label2id"] = numbers;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ffkit
