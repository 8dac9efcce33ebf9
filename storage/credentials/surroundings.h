// What credentials are found in: the environment's variables, files below the home, a client for
// services, the time. Tests give their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/http_client.h"

namespace ffkit {

using Moment = std::chrono::system_clock::time_point;

struct Surroundings {
  // The value of an environment variable; empty where it is unset.
  std::function<std::string(const std::string& name)> variable;
  std::filesystem::path home;
  std::function<std::shared_ptr<HttpClient>()> client;
  std::function<Moment()> now;
  // What a command of the shell prints. Throws Error(invalid_argument) when it fails.
  std::function<std::string(const std::string& command)> run;
  std::function<void(std::chrono::milliseconds)> wait;
  // Who gives the variables with keys, for messages.
  std::string giver = "the environment";
  int mark = 0;  // of addresses that these are for (storage_options.h)

  // Whether a variable is set to a word that means yes: 1, yes, true, on.
  bool is_on(const std::string& name) const;
};

// Those of this process.
Surroundings process_surroundings();
// The same with the options of a mark before the variables of the environment. An option that no
// variable has is a variable in lower case. Throws Error(invalid_argument) for a mark that there is
// not.
Surroundings surroundings_of_mark(int mark);

// A text file as it is; nothing where it is not there. Throws Error(io) for one that cannot be
// read, Error(unsupported) for one of more than 4 MiB.
std::optional<std::string> text_if_there(const std::filesystem::path& path);
// Its first line, for files of tokens.
std::string first_line(std::string_view text);

// Sends what `make` makes, and up to twice more while nobody answers or the service is overloaded.
HttpResponse ask_patiently(const Surroundings& surroundings,
                           const std::function<HttpRequest()>& make);
// How often a service is asked that does not answer.
enum class Patience : uint8_t { once, thrice };
// A small request of a service of credentials, each attempt of which waits `time_limit_s` at most.
HttpResponse ask(const Surroundings& surroundings, const std::string& method,
                 const std::string& url, const std::vector<std::string>& headers,
                 const std::string& body, double time_limit_s, Patience patience,
                 const std::string& ca_file = {});

// Answers of such services in JSON; never throws.
class JsonAnswer {
 public:
  explicit JsonAnswer(const std::string& text);
  ~JsonAnswer();
  JsonAnswer(JsonAnswer&&) noexcept;
  JsonAnswer& operator=(JsonAnswer&&) noexcept;

  bool is_object() const;
  // A member that is a text, or a number in it; empty otherwise. "a/b" is the member b of a.
  std::string text(const std::string& path) const;
  double number(const std::string& path, double otherwise) const;
  // A number of seconds of 0 to 1e9 (30 years), also where more is said; an hour if none is said.
  std::chrono::seconds lifetime(const std::string& path) const;
  // Sets members of an object, and gives the whole as text.
  void set(const std::string& name, const std::string& value);
  void set(const std::string& name, int64_t value);
  std::string dump() const;

 private:
  struct Document;
  std::unique_ptr<Document> document_;
};

// "2026-11-26T22:00:00Z", also with fractions of seconds, "+01:00" or "UTC"; nothing for others.
// Years before 1900 and after 2200 become those: "never" is often written as the year 9999.
std::optional<Moment> moment_of(std::string_view text);
std::string text_of_moment(Moment moment);

// "503: SlowDown" or what kept an answer from coming, for messages.
std::string outcome_of(const HttpResponse& response);

// "a=b&c=d", encoded.
std::string form_of(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace ffkit
