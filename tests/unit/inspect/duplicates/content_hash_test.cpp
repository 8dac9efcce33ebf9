#include "duplicates/content_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace ffkit {
namespace {

ContentHash hash_of_text(std::string_view text) {
  return content_hash(std::as_bytes(std::span(text)));
}

// What the reference implementation gives (SMHasher; Python's mmh3.hash64 has the same).
TEST(ContentHash, IsMurmurHash3) {
  EXPECT_EQ(hash_of_text(""), (ContentHash{0, 0}));
  EXPECT_EQ(hash_of_text("hello"), (ContentHash{0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19}));
  EXPECT_EQ(hash_of_text("The quick brown fox jumps over the lazy dog"),
            (ContentHash{0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347}));
}

TEST(ContentHash, DependsOnEveryByteOfEveryLength) {
  std::set<ContentHash> seen;
  int64_t num_texts = 0;
  for (size_t length = 1; length < 50; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string text(length, 'a');
      text[at] = 'b';
      seen.insert(hash_of_text(text));
      ++num_texts;
    }
  }
  EXPECT_EQ(std::ssize(seen), num_texts);
}

}  // namespace
}  // namespace ffkit
