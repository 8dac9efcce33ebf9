#include "serve/site.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/text/token_data.h>

#include "serve/answers.h"
#include "serve/page_files.h"

namespace ffkit::serve {
namespace {

using Answer = http::Response (*)(SiteState&, const http::Request&);

constexpr std::pair<std::string_view, Answer> kAnswers[] = {
    {"/api/set", answer_set},
    {"/api/find", answer_find},
    {"/api/rows", answer_rows},
    {"/api/histogram", answer_histogram},
    {"/api/position", answer_position},
    {"/list", answer_list},
    {"/api/record", answer_record},
    {"/api/tokens", answer_tokens},
    {"/thumbnail", answer_thumbnail},
    {"/picture", answer_picture},
    {"/mask", answer_mask},
    {"/view", answer_view},
    {"/api/view", answer_view_facts},
    {"/api/scenes", answer_scenes},
    {"/camera", answer_camera},
    {"/above", answer_above},
    {"/api/confusion", answer_confusion},
    {"/api/duplicates", answer_duplicates},
    {"/api/duplicates/start", answer_duplicates_start},
};

constexpr std::pair<std::string_view, std::string_view> kContentTypes[] = {
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

http::Response page_response(const PageFile& file) {
  http::Response response{.body = std::string(file.content)};
  for (const auto& [ending, type] : kContentTypes) {
    if (file.name.ends_with(ending)) response.content_type = type;
  }
  return response;
}

http::Response problem_response(int status, const std::string& sentence) {
  http::Response response = json_response({{"error", sentence}});
  response.status = status;
  return response;
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return 400;
    case ErrorCode::not_found:
      return 404;
    default:
      return 500;
  }
}

std::vector<Dataset> whole_splits(const ServedSet& set) {
  std::vector<Dataset> splits;
  splits.reserve(set.splits.size());
  for (const ServedSplit& split : set.splits) splits.push_back(split.whole());
  return splits;
}

}  // namespace

const text::Tokenizer& SiteState::tokenizer() {
  const std::lock_guard lock(mutex_);
  if (!tokenizer_) tokenizer_ = text::stored_tokenizer(set.splits.front().whole().path());
  return *tokenizer_;
}

Site::Site(ServedSet set, const std::filesystem::path& hash_folder) {
  state_.set = std::move(set);
  state_.search = std::make_unique<DuplicateSearch>(whole_splits(state_.set),
                                                    DuplicateOptions{.hash_folder = hash_folder});
  state_.page = make_page(state_);
}

http::Response Site::answer(const http::Request& request) {
  const std::string_view name = request.path;
  if (name == "/" || name == "/index.html") return page_answer(state_.page);
  const auto file = std::ranges::find(page_files(), name.substr(1),
                                      [](const PageFile& page) { return page.name; });
  if (file != page_files().end()) return page_response(*file);
  const auto found = std::ranges::find(kAnswers, name, [](const auto& item) { return item.first; });
  if (found == std::end(kAnswers)) return problem_response(404, "there is nothing at this address");
  try {
    return found->second(state_, request);
  } catch (const Error& error) {
    return problem_response(status_of(error.code()), error.text(OptionStyle::command_line));
  } catch (const std::exception& error) {
    return problem_response(500, error.what());
  }
}

}  // namespace ffkit::serve
