#include <fmt/format.h>

#include <ffkit/trainer/gpt2.h>

#include "base/enum_names.h"
#include "tasks/gpt2/data/gpt2_data.h"
#include "tasks/gpt2/network/gpt2_config.h"

namespace ffkit {

constexpr EnumName<Gpt2Samples> kGpt2SamplesNames[] = {{Gpt2Samples::stream, "stream"},
                                                       {Gpt2Samples::documents, "documents"}};
std::string_view to_string(Gpt2Samples samples) {
  return name_of(kGpt2SamplesNames, samples);
}

Gpt2Samples parse_gpt2_samples(std::string_view name) {
  return value_of(kGpt2SamplesNames, name, "--samples");
}

void Gpt2Options::describe(OptionTable& t, const TrainOptions& general) {
  constexpr int64_t kMost = 1 << 24, kMostProcesses = 65536;
  const auto add_size = [&](const char* name, int64_t& value, const char* help) {
    t.add(name, value, help).require(value >= 0 && value <= kMost, "1 to 16777216, or 0");
  };
  t.group("Network");
  t.add("arch", arch, "Sizes of the network, where the following options do not give them")
      .set_choices(gpt2_names())
      .set_names_model();
  add_size("layers", layers, "Blocks of the network; 0: those of --arch");
  add_size("heads", heads,
           "Heads of attention in a block, a divisor of the width; 0: those of --arch");
  add_size("width", width, "Width of the network; 0: that of --arch");
  add_size("positions", positions, "Longest sequence that the network can take; 0: that of --arch");
  add_size("vocabulary", vocabulary,
           "Tokens that the network knows, at least those of the data; 0: those of the data");
  t.add("layer-norm-epsilon", norm_epsilon,
        "What norms add to a variance; 0: as in config.json of --pretrained, else 1e-5")
      .set_stored(norm_epsilon != 0)  // checkpoints without it keep their bytes
      .require(norm_epsilon >= 0 && norm_epsilon < 1, "0 or more and less than 1");
  t.add("resize-vocabulary", resize_vocabulary,
        "--pretrained may know another number of tokens than the data: rows of new ones begin as "
        "the mean of the others, rows beyond are left out")
      .set_stored(resize_vocabulary)
      .require(!resize_vocabulary || !general.pretrained.empty(), "off without --pretrained");
  t.add("dropout", dropout,
        "Share of embeddings, attention and outputs of blocks that is dropped in training")
      .require(dropout >= 0 && dropout < 1, "0 or more and less than 1");
  t.add("recompute", recompute,
        "Computes the inside of each block again in the backward pass instead of keeping it: "
        "less memory, a third more time");
  t.group("Tokens");
  t.add("train-split", train_split, "Split that is trained on")
      .require(!train_split.empty(), "the name of a split");
  t.add("val-split", val_split, "Split that is validated")
      .require(!val_split.empty(), "the name of a split");
  const int64_t most = configured_positions(*this);
  t.add("context", context, "Tokens of a sample; 0: --positions")
      .require(context >= 0 && context <= most,
               fmt::format("1 to the network's positions, {}, or 0", most));
  t.add_choice("samples", samples, parse_gpt2_samples, {"stream", "documents"},
               "A training sample: a piece of all documents one after the other (stream), or one "
               "document, cut or padded");
  t.add("window-tokens", window_tokens,
        "Samples are shuffled among about so many tokens, which are kept in memory twice")
      .require(window_tokens >= 1, "at least 1");
  t.group("Mesh of processes");
  t.add("data-parallel", data_parallel,
        "Processes that share the samples; 0: as many as the other two leave")
      .require(data_parallel >= 0 && data_parallel <= kMostProcesses, "1 to 65536, or 0");
  const auto add_part = [&](const char* name, int64_t& value, const char* help) {
    t.add(name, value, help)
        .require(value >= 1 && value <= kMostProcesses, "1 to 65536")
        .require(value == 1 || general.optimizer != OptimizerKind::lars,
                 "1 with the optimizer lars, which needs whole layers in each process");
  };
  add_part("tensor-parallel", tensor_parallel,
           "Processes that share each block and the vocabulary");
  t.add("sequence-parallel", sequence_parallel,
        "With --tensor-parallel: its processes also share the positions in norms, dropout and "
        "between blocks, which saves memory")
      .set_stored(sequence_parallel)  // checkpoints without it keep their bytes
      .require(!sequence_parallel || tensor_parallel > 1, "off without --tensor-parallel")
      .require(!sequence_parallel || configured_context(*this) % tensor_parallel == 0,
               fmt::format("off with a context of {} that {} processes of --tensor-parallel cannot "
                           "share evenly; give a --context that is a multiple of {}",
                           configured_context(*this), tensor_parallel, tensor_parallel));
  add_part("pipeline-parallel", pipeline_parallel, "Processes that have some of the blocks each");
  t.add("micro-batches", micro_batches,
        "With --pipeline-parallel: pieces that a batch goes through the blocks in")
      .require(micro_batches >= 1, "at least 1")
      .require(micro_batches == 1 || pipeline_parallel > 1,
               "1 without --pipeline-parallel; give --accumulate instead");
}

}  // namespace ffkit
