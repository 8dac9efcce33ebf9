#include <ffkit/trainer/classification.h>

#include "model/model_registry.h"

namespace ffkit {
namespace {

void add_split_options(OptionTable& t, ClassificationOptions& o) {
  t.group("Splits");
  t.add("train-split", o.train_split, "Split that is trained on")
      .set_stored(o.train_split != ClassificationOptions().train_split)
      .require(!o.train_split.empty(), "the name of a split");
  t.add("val-split", o.val_split, "Split that is validated")
      .set_stored(o.val_split != ClassificationOptions().val_split)
      .require(!o.val_split.empty(), "the name of a split");
  t.add("val-share", o.val_share,
        "Validates this share of the training split instead of --val-split, and does not train on "
        "it. Which records it has depends on their ids alone: pictures that are added later change "
        "nothing for the others; 0: off")
      .set_stored(o.val_share != 0)
      .require(o.val_share >= 0 && o.val_share < 1, "0 or more and less than 1")
      .require(o.val_share == 0 || o.val_split == ClassificationOptions().val_split,
               "0 with a validation split of its own");
}

}  // namespace

std::vector<std::string> arch_names() {
  return ModelRegistry::instance().names();
}

void ClassificationOptions::describe(OptionTable& t, const TrainOptions& general) {
  // Where checkpoints had them before there were tasks.
  t.store_behind("data");
  add_split_options(t, *this);
  t.group("Network");
  t.add("arch", arch, "Model; names are torchvision's").set_choices(arch_names()).set_names_model();
  t.store_behind("pretrained");
  describe_pictures(*this, t, general.epochs);
  t.store_behind("clip-grad-norm");
  t.group("Network");
  t.add("label-smoothing", label_smoothing, "Label smoothing in training")
      .require(label_smoothing >= 0 && label_smoothing < 1, "0 or more and less than 1");
  t.add(
       "dropout", dropout,
       "Probability that an input of the head is dropped in training; -1: the model's own, 0.2 for "
       "MobileNet and EfficientNet and 0 for the others")
      .set_stored(dropout != -1)
      .require(dropout == -1 || (dropout >= 0 && dropout < 1), "0 or more and less than 1, or -1");
  t.add("class-weights", class_weights,
        "Weights of the classes in the training loss: balanced, inversely to their numbers of "
        "pictures, or a file of lines CLASS WEIGHT or a JSON object")
      .set_stored(!class_weights.empty());
  t.add("balance", balance,
        "Draws each class equally often in training, with replacement, whatever its number of "
        "pictures")
      .set_stored(balance)
      .require(!balance || !general.data.are_several(), "off with several data sets")
      .require(!balance || general.order == SampleOrder::automatic, "off with an order of samples");
  t.store_behind("ema-steps");
  t.add("zero-init-residual", zero_init_residual,
        "Initialises the last norm of each residual block with 0");
  t.store_behind("loss-scale");
  t.add("channels-last", channels_last,
        "Memory format NHWC for pictures and convolutions (default: on)");
}

}  // namespace ffkit
