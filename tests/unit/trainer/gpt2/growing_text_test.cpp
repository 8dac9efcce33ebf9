#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tasks/gpt2/generation/generated_text.h"

namespace ffkit {
namespace {

TEST(StopStrings, EndWithinTheLastToken) {
  const StopStrings stops({"\n\n", "END"});
  EXPECT_FALSE(stops.find("a END b", 2));  // it was there before
  EXPECT_EQ(stops.find("a END b", 3)->begin, 2u);
  EXPECT_EQ(stops.find("a END\n\n", 7)->text, "END");
  EXPECT_EQ(stops.find("\n\nEND", 6)->text, "\n\n");
  EXPECT_FALSE(stops.find("END", 0));
  EXPECT_FALSE(StopStrings({}).find("END", 3));
  EXPECT_EQ(stops.num_begun("xEN"), 2u);
  EXPECT_EQ(stops.num_begun("x\n"), 1u);
  EXPECT_EQ(stops.num_begun("x"), 0u);
  EXPECT_EQ(stops.num_begun("xEND"), 0u);
}

// The texts behind each token of `continuation`, each a byte; 256 is the end.
std::vector<std::string> shown_texts(const std::vector<std::string>& stop, bool hides_stop,
                                     std::string_view prompt, std::string_view continuation) {
  const text::Tokenizer tokenizer = text::Tokenizer::bytes();
  const StopStrings stops(stop);
  std::vector<uint32_t> tokens;
  tokenizer.encode(prompt, tokens);
  GrowingText text(tokenizer, stops, hides_stop, tokens);
  std::vector<std::string> out = {text.text()};
  for (const char byte : continuation) {
    text.add(static_cast<unsigned char>(byte), false);
    out.push_back(text.text());
    if (!text.stop().empty()) break;
  }
  text.finish();
  out.push_back(text.text());
  return out;
}

TEST(GrowingText, GrowsByWholeCharacters) {
  EXPECT_EQ(shown_texts({}, false, "a", "\xC3\xA9\xC3"),
            (std::vector<std::string>{"a", "a", "a\u00e9", "a\u00e9", "a\u00e9\uFFFD"}));
}

TEST(GrowingText, EndsWithAStopString) {
  EXPECT_EQ(shown_texts({"END"}, false, "xE", "NDz"),
            (std::vector<std::string>{"xE", "xEN", "xEND", "xEND"}));
  // What may begin one is held back, and shown when it does not.
  EXPECT_EQ(shown_texts({"END"}, true, "x", "EaENDz"),
            (std::vector<std::string>{"x", "x", "xEa", "xEa", "xEa", "xEa", "xEa"}));
  // The prompt is shown in any case.
  EXPECT_EQ(shown_texts({"END"}, true, "xE", "ND"),
            (std::vector<std::string>{"xE", "xE", "xE", "xE"}));
  EXPECT_EQ(shown_texts({"END"}, true, "x", "EN"),
            (std::vector<std::string>{"x", "x", "x", "xEN"}));
}

TEST(GrowingText, HidesASpecialEnd) {
  const text::Tokenizer tokenizer = text::Tokenizer::bytes();
  const StopStrings stops({});
  GrowingText text(tokenizer, stops, false, {});
  text.add(256, /*is_end=*/false);
  text.add('.', /*is_end=*/true);
  text.add(256, /*is_end=*/true);
  text.finish();
  EXPECT_EQ(text.text(), "<|endoftext|>.");
}

}  // namespace
}  // namespace ffkit
