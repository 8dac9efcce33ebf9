#include "base/other_words.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

const std::vector<std::string> kKnown = {"num-threads", "bad-samples", "seed",  "batch-size",
                                         "lr",          "order",       "resume"};

std::string words(std::string_view place, std::string_view name,
                  OptionStyle style = OptionStyle::command_line) {
  return words_on_name(place, name, kKnown, style);
}

TEST(OtherWords, NameWhatIsMeant) {
  EXPECT_EQ(words("ffconvert folder", "--workers"), "use --num-threads instead");
  EXPECT_EQ(words("Loader", "workers", OptionStyle::python), "use num_threads instead");
  EXPECT_EQ(words("Loader", "batch", OptionStyle::python), "use batch_size instead");
  EXPECT_EQ(words("fftrain", "learning_rate"), "use --lr instead");
  EXPECT_EQ(words("fftrain", "aug-splits"), "no option does the same");
  EXPECT_EQ(words("ffconvert folder", "force"),
            "remove DST first, or continue it with --resume (nothing is overwritten)");
  // Of another program alone, and of no table.
  EXPECT_EQ(words("ffconvert folder", "aug-splits").substr(0, 21), "the nearest names are");
  EXPECT_EQ(words("Loader", "sed", OptionStyle::field).substr(0, 26), "the nearest names are seed");
  // An option that the command does not have is no answer.
  EXPECT_EQ(words_on_name("ffinspect info", "workers", {"json"}, OptionStyle::field),
            "the nearest names are json");
}

TEST(OtherWords, NameWhatEarlierVersionsCalledOtherwise) {
  EXPECT_EQ(words("ffconvert folder", "--threads"), "it is --num-threads now");
  EXPECT_EQ(words("", "on_error", OptionStyle::python), "it is bad_samples now");
  EXPECT_EQ(current_name("order", "shuffled"), "shuffle");
  EXPECT_EQ(current_name("order", "source"), "sequential");
  EXPECT_EQ(current_name("seed", "shuffled"), "shuffled");
  EXPECT_EQ(current_name("option", "seed"), "seed");
}

}  // namespace
}  // namespace ffkit
