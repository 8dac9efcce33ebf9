#include <fmt/format.h>

#include <ffkit/format/error.h>

#include "enum_names.h"
#include "printable.h"

namespace ffkit {

std::string place_of(const ErrorContext& context) {
  std::string text;
  if (!context.path.empty()) text += context.path + ": ";
  if (context.record >= 0) text += fmt::format("record {}: ", context.record);
  if (context.offset >= 0) text += fmt::format("offset {}: ", context.offset);
  return text;
}

namespace {

std::string compose(const std::string& places, const std::string& message,
                    const ErrorContext& context, OptionStyle style) {
  std::string text = places + place_of(context) + with_option_names(message, style);
  if (context.errno_value != 0) {
    const char* name = strerrorname_np(context.errno_value);
    const char* description = strerrordesc_np(context.errno_value);
    text += fmt::format(": {} ({})", description != nullptr ? description : "unknown error",
                        name != nullptr ? name : std::to_string(context.errno_value));
  }
  if (!context.remedy.empty()) text += "; " + with_option_names(context.remedy, style);
  // Names of files and of archives' members may hold anything; a message is one line.
  return printable(text);
}

}  // namespace

constexpr EnumName<ErrorCode> kErrorCodeNames[] = {
    {ErrorCode::not_found, "not_found"},
    {ErrorCode::corrupt, "corrupt"},
    {ErrorCode::io, "io"},
    {ErrorCode::invalid_argument, "invalid_argument"},
    {ErrorCode::unsupported, "unsupported"},
    {ErrorCode::cancelled, "cancelled"}};
std::string_view to_string(ErrorCode code) {
  return name_of(kErrorCodeNames, code);
}

constexpr EnumName<ErrorSubject> kErrorSubjectNames[] = {{ErrorSubject::unknown, "unknown"},
                                                         {ErrorSubject::argument, "argument"},
                                                         {ErrorSubject::sample, "sample"},
                                                         {ErrorSubject::source, "source"},
                                                         {ErrorSubject::destination, "destination"},
                                                         {ErrorSubject::dataset, "dataset"},
                                                         {ErrorSubject::shard, "shard"},
                                                         {ErrorSubject::split, "split"},
                                                         {ErrorSubject::field, "field"}};
std::string_view to_string(ErrorSubject subject) {
  return name_of(kErrorSubjectNames, subject);
}

Error::Error(ErrorCode code, const std::string& message, ErrorContext context)
    : Error(code, "", message, std::move(context)) {}

Error::Error(ErrorCode code, const std::string& places, const std::string& message,
             ErrorContext context)
    : std::runtime_error(compose(places, message, context, OptionStyle::field)),
      code_(code),
      places_(places),
      message_(message),
      context_(std::move(context)) {}

std::string Error::text(OptionStyle style) const {
  return compose(places_, message_, context_, style);
}

Error Error::with_message(const std::string& message) const {
  return {code_, places_, message, context_};
}

Error Error::with_subject(ErrorSubject subject) const {
  ErrorContext context = context_;
  context.subject = subject;
  return {code_, places_, message_, std::move(context)};
}

Error Error::with_remedy(const std::string& remedy) const {
  ErrorContext context = context_;
  context.remedy = remedy;
  return {code_, places_, message_, std::move(context)};
}

Error Error::within(const ErrorContext& outer) const {
  ErrorContext context = context_;
  std::string places = places_;
  if (!context.path.empty() && context.path != outer.path) {
    places = place_of(outer) + places;
  } else {
    if (context.path.empty()) context.path = outer.path;
    if (context.record < 0) context.record = outer.record;
    if (context.offset < 0) context.offset = outer.offset;
  }
  if (context.errno_value == 0) context.errno_value = outer.errno_value;
  if (context.subject == ErrorSubject::unknown) context.subject = outer.subject;
  if (context.name.empty()) context.name = outer.name;
  if (context.remedy.empty()) context.remedy = outer.remedy;
  return {code_, places, message_, std::move(context)};
}

}  // namespace ffkit
