#include "tasks/gpt2/generation/loaded_gpt2.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

class GenerationSettingsTest : public ::testing::Test {
 protected:
  GenerationSettings read(const GenerateOptions& options = {}) const {
    return read_generation_settings(temp_.path(), text::Tokenizer::bytes(), options);
  }
  void write(const char* name, const std::string& text) const { write_file(temp_ / name, text); }

  const testing::TempDir temp_;
};

// Each as transformers 5.24 reads it.
TEST_F(GenerationSettingsTest, EndsAreThoseOfTransformers) {
  write("config.json", R"({"eos_token_id": 10, "bos_token_id": 9})");
  EXPECT_THAT(read().ends, ElementsAre(10));
  EXPECT_EQ(read().begin, 9u);
  EXPECT_THAT(read().notes, IsEmpty());
  write("config.json", R"({"eos_token_id": [10, 256]})");
  EXPECT_THAT(read().ends, ElementsAre(10, 256));
  for (const char* none : {R"({"eos_token_id": null})", "{}", R"({"eos_token_id": []})"}) {
    write("config.json", none);
    EXPECT_THAT(read().ends, IsEmpty()) << none;
    EXPECT_THAT(read().notes, ElementsAre(HasSubstr("config.json: has no eos_token_id, so texts "
                                                    "do not end at <|endoftext|>; give --stop")));
  }
  // generation_config.json alone counts where it is there.
  write("config.json", R"({"eos_token_id": 10})");
  write("generation_config.json", R"({"eos_token_id": [13, -1, 300]})");
  EXPECT_THAT(read().ends, ElementsAre(13));
  EXPECT_THAT(read().notes, ElementsAre(HasSubstr("has the eos_token_id -1, but the tokenizer has"),
                                        HasSubstr("has the eos_token_id 300, ")));
  write("generation_config.json", "{}");
  EXPECT_THAT(read().ends, IsEmpty());
}

TEST_F(GenerationSettingsTest, WhatIsNoNumberIsRefused) {
  for (const char* wrong : {R"("10")", "true", "10.0", R"([10, "a"])", R"({"id": 10})"}) {
    write("config.json", std::string(R"({"eos_token_id": )") + wrong + "}");
    EXPECT_ERROR(read(), corrupt);
  }
  write("config.json", "[]");
  EXPECT_ERROR(read(), corrupt);
  write("generation_config.json", "{");
  EXPECT_ERROR(read(), corrupt);
}

TEST_F(GenerationSettingsTest, WhatIsNotDoneIsSaid) {
  write("config.json", "{}");
  write("generation_config.json", R"({"eos_token_id": 1, "do_sample": true, "temperature": 0.7,
    "repetition_penalty": 1.2, "stop_strings": ["a\n"], "num_beams": 1, "min_p": 0.1,
    "no_repeat_ngram_size": 3, "max_new_tokens": 7})");
  EXPECT_THAT(
      read().notes,
      ElementsAre(HasSubstr("generation_config.json: has settings that are options of ffgenerate; "
                            "give --temperature 0.7 --top-k 50 --max-tokens 7 "
                            "--repetition-penalty 1.2 --stop \"a\\n\""),
                  HasSubstr("has no_repeat_ngram_size 3, min_p 0.1, which")));
  const GenerateOptions given{
      .max_tokens = 8, .top_k = 3, .repetition_penalty = 1.1, .stop = {"b"}};
  EXPECT_THAT(read(given).notes, ElementsAre(HasSubstr("has no_repeat_ngram_size 3")));
  write("generation_config.json", R"({"eos_token_id": 1, "temperature": 0.7, "top_k": 5,
    "repetition_penalty": 1.0, "bad_words_ids": null, "transformers_version": "5"})");
  EXPECT_THAT(read().notes, IsEmpty());
}

}  // namespace
}  // namespace ffkit
