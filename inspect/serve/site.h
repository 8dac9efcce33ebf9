// Site: what each address answers.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <ffkit/text/tokenizer.h>

#include "duplicates/duplicate_search.h"
#include "http/message.h"
#include "serve/choice.h"
#include "serve/served_set.h"

namespace ffkit::serve {

// The files of page/, which the build puts into the program.
struct PageFile {
  std::string_view name;  // "app.js"
  std::string_view content;
};
std::span<const PageFile> page_files();

// What the answers are made from. Thread-safe but for `set`, which does not change.
struct SiteState {
  ServedSet set;
  Choices choices;
  std::unique_ptr<DuplicateSearch> search;
  std::string page;  // index.html as it is sent, but for its nonce

  // Null until the search is done.
  [[nodiscard]] std::shared_ptr<const Duplicates> duplicates() const { return search->result(); }
  // The data set's tokenizer, read once. Throws Error(not_found) where there is none.
  const text::Tokenizer& tokenizer();
  // The records that the request chooses of `split`.
  std::shared_ptr<const Choice> choice(const ServedSplit& split, const ChoiceText& text) {
    return choices.get(split, text, duplicates().get());
  }

 private:
  std::mutex mutex_;
  std::optional<text::Tokenizer> tokenizer_;
};

class Site {
 public:
  // `set` is served as it is; `hash_folder` is where hashes of duplicates are kept.
  Site(ServedSet set, const std::filesystem::path& hash_folder);

  // The answer to a request without its token. What is wrong with the request, and damaged records,
  // become answers too; it throws nothing but std::bad_alloc. Thread-safe.
  http::Response answer(const http::Request& request);

 private:
  SiteState state_;
};

}  // namespace ffkit::serve
