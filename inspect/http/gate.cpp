#include "http/gate.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"

namespace ffkit::http {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// "127.0.0.1:8080" and the like: this machine by a name that no name server gives away.
bool is_this_machine(std::string_view host) {
  for (const std::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = host.substr(name.size());
    if (rest.empty()) return true;
    return rest.front() == ':' && rest.size() <= 6 &&
           std::ranges::all_of(rest.substr(1), [](char c) { return c >= '0' && c <= '9'; });
  }
  return false;
}

// Of the same length; looks at every byte, whichever differ.
bool are_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
  }
  const volatile unsigned result = different;
  return result == 0;
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 22> bytes = {};
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorCode::io, "the system gives no random numbers; choose a token yourself");
    }
    done += static_cast<size_t>(got);
  }
  std::string token;
  for (const unsigned char byte : bytes) token += kDigits[byte % kDigits.size()];
  return token;
}

Gate::Gate(std::string token) : token_(std::move(token)) {
  const bool is_plain =
      std::ranges::all_of(token_, [](char c) { return kDigits.find(c) != std::string_view::npos; });
  if (token_.size() < 16 || token_.size() > 128 || !is_plain) {
    throw argument_error("token", option_name("token") +
                                      " has 16 to 128 letters, digits, '-' and '_': who guesses it "
                                      "sees the data");
  }
}

std::optional<Response> Gate::refuse(Request& request) const {
  if (!is_this_machine(request.host)) {
    return Response{.status = 403,
                    .body =
                        "This address is asked for under the name of another host. Open it as "
                        "127.0.0.1 or localhost.\n"};
  }
  const bool is_own_origin = request.origin.empty() || request.origin == "http://" + request.host;
  const bool is_own_site = request.fetch_site.empty() || request.fetch_site == "same-origin" ||
                           request.fetch_site == "none";
  // A link that somebody follows, such as from a terminal in the browser: the page with the link
  // sees nothing of what comes.
  const bool is_followed = request.origin.empty() && request.fetch_mode == "navigate" &&
                           request.fetch_dest == "document";
  if ((!is_own_origin || !is_own_site) && !is_followed) {
    return Response{.status = 403, .body = "The page of another site may not ask.\n"};
  }
  const std::string_view path = request.path;
  const std::string_view first = path.substr(1, path.find('/', 1) - 1);
  if (!are_equal(first, token_)) {
    return Response{.status = 403,
                    .body =
                        "The address lacks the token. Open the address that 'ffinspect serve' "
                        "printed.\n"};
  }
  request.path.erase(0, 1 + token_.size());
  // The page's addresses are relative to the folder.
  if (request.path.empty()) return Response{.status = 308, .location = "/" + token_ + "/"};
  return std::nullopt;
}

}  // namespace ffkit::http
