#include "serve/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/text/token_data.h>

namespace ffkit::serve {
namespace {

// A window of 1280 x 800 shows 24; what a larger one has beyond these is asked for by grid.js.
constexpr int64_t kNumFirstThumbnails = 30;

// As URLSearchParams of browsers write a value, so that the page asks for the same addresses.
std::string form_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                          (c >= 'a' && c <= 'z') ||
                          std::string_view("*-._").find(c) != std::string_view::npos;
    if (c == ' ') {
      out += '+';
    } else if (is_plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// The first thumbnails as they will stand, so that browsers ask for them before any module has
// come.
std::string first_screen(SiteState& state, const ServedSplit& split) {
  if (split.picture_fields().empty()) return "<p class=\"note\">Opening the data set …</p>";
  std::string html =
      "<div class=\"with-side first\"><div class=\"side-place\"></div><section class=\"grid\">"
      "<div class=\"toolbar\"></div><div class=\"cells\"><div class=\"sheet\">\n";
  const auto choice = state.choice(split, {});
  for (int64_t i = 0; i < std::min(kNumFirstThumbnails, choice->size()); ++i) {
    const auto address = [&](int size) {
      return fmt::format("thumbnail?split={}&amp;record={}&amp;size={}{}&amp;v={}",
                         form_encoded(split.name()), choice->at(i), size,
                         split.has_marks() ? "&amp;marks=1" : "", split.whole().fingerprint());
    };
    html +=
        fmt::format("<img alt=\"\" fetchpriority=\"high\" src=\"{}\" srcset=\"{} 1.5x, {} 2x\">\n",
                    address(160), address(240), address(320));
  }
  return html + "</div></div></section></div>";
}

std::string_view content_of(std::string_view name) {
  return std::ranges::find(page_files(), name, &PageFile::name)->content;
}

void replace(std::string& text, std::string_view word, std::string_view with) {
  text.replace(text.find(word), word.size(), with);
}

// The answer with the page, which has a nonce of its own.
http::Response page_answer(const std::string& page) {
  http::Response response{.content_type = "text/html; charset=utf-8", .body = page};
  response.nonce = http::random_token();
  for (int i = 0; i < 2; ++i) replace(response.body, "{{nonce}}", response.nonce);
  return response;
}

// The page, with its style, what api/set answers and its first screen written into it.
std::string make_page(SiteState& state) {
  const ServedSplit& split = state.set.first_split();
  std::string json = answer_set(state, {}).body;
  // So that no name can end the element that it stands in.
  for (size_t at = 0; (at = json.find('<', at)) != std::string::npos;) {
    json.replace(at, 1, "\\u003c");
  }
  std::string page(content_of("index.html"));
  // What is drawn first waits for no other answer.
  for (const std::string_view name : {"style.css", "first.js"}) {
    replace(page, fmt::format("{{{{{}}}}}", name), content_of(name));
  }
  replace(page, "{{place}}", "#grid?split=" + form_encoded(split.name()));
  replace(page, "{{screen}}", first_screen(state, split));
  replace(page, "{{set}}", json);
  return page;
}

using Answer = http::Response (*)(SiteState&, const http::Request&);

constexpr std::pair<std::string_view, Answer> kAnswers[] = {
    {"/api/set", answer_set},
    {"/api/find", answer_find},
    {"/api/rows", answer_rows},
    {"/api/histogram", answer_histogram},
    {"/api/position", answer_position},
    {"/api/map", answer_map},
    {"/api/near", answer_near},
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
  if (code == ErrorCode::invalid_argument) return 400;
  return code == ErrorCode::not_found ? 404 : 500;
}

}  // namespace

const text::Tokenizer& SiteState::tokenizer() {
  const std::lock_guard lock(mutex_);
  if (!tokenizer_) tokenizer_ = text::stored_tokenizer(set.splits.front().whole().path());
  return *tokenizer_;
}

std::shared_ptr<const Choice> SiteState::choice(const ServedSplit& split, const ChoiceText& text) {
  const bool needs_words = text.inside && split.kind() == "tokens";
  return choices.get(split, text, duplicates().get(), needs_words ? &tokenizer() : nullptr);
}

Site::Site(ServedSet set, const std::filesystem::path& hash_folder) {
  state_.set = std::move(set);
  std::vector<Dataset> splits;
  for (const ServedSplit& split : state_.set.splits) splits.push_back(split.whole());
  state_.search = std::make_unique<DuplicateSearch>(std::move(splits),
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
