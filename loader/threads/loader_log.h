// Where the loader's warnings go: LoaderOptions::on_warning, or spdlog's default logger.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ffkit {

using WarningSink = std::function<void(std::string_view)>;

// Makes spdlog's default logger where there is none yet, before the loader's threads do so at the
// same time.
void prepare_log(const WarningSink& sink);

// What `sink` throws is dropped: a message is not worth an epoch.
void warn(const WarningSink& sink, const std::string& message) noexcept;

}  // namespace ffkit
