#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "http/gate.h"
#include "serve/answers.h"
#include "serve/page_files.h"

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

}  // namespace

http::Response page_answer(const std::string& page) {
  http::Response response{.content_type = "text/html; charset=utf-8", .body = page};
  response.nonce = http::random_token();
  for (int i = 0; i < 2; ++i) replace(response.body, "{{nonce}}", response.nonce);
  return response;
}

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

}  // namespace ffkit::serve
