#include "flags/command_line.h"

#include <CLI/CLI.hpp>

namespace manymeans::cli {
namespace {

ListedOption listed_option(const CLI::Option& option) {
  ListedOption result;
  if (option.get_positional()) {
    result.flags = {option.get_name(true)};
    result.value = option.get_name(true);
  } else {
    for (const std::string& name : option.get_snames()) result.flags.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) result.flags.push_back("--" + name);
    result.value = option.get_type_name();
  }
  result.help = option.get_description();
  result.default_value = option.get_default_str();
  result.group = option.get_group();
  return result;
}

ListedCommand listed_command(const CLI::App& app) {
  ListedCommand result{.name = app.get_name(),
                       .help = app.get_description(),
                       .examples = app.get_footer(),
                       .arguments = {},
                       .options = {},
                       .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? result.arguments : result.options).push_back(listed_option(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    result.commands.push_back(listed_command(*command));
  }
  return result;
}

ParseStop::Reason reason_of(const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) return ParseStop::Reason::kMistake;
  const bool version = dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr;
  return version ? ParseStop::Reason::kVersion : ParseStop::Reason::kHelp;
}

}  // namespace

Flag Flag::type_name(const std::string& name) const {
  return Flag(option_->type_name(name));
}
Flag Flag::default_str(const std::string& text) const {
  return Flag(option_->default_str(text));
}
Flag Flag::group(const std::string& title) const {
  return Flag(option_->group(title));
}
Flag Flag::required(bool needed) const {
  return Flag(option_->required(needed));
}
Flag Flag::needs(const Flag& other) const {
  return Flag(option_->needs(other.option_));
}
Flag Flag::excludes(const Flag& other) const {
  return Flag(option_->excludes(other.option_));
}
bool Flag::given() const {
  return option_->count() > 0;
}

Flag Command::add_option(const std::string& names, const StoreText& store, const std::string& help) const {
  const CLI::callback_t call = [store](const CLI::results_t& texts) {
    store(texts.front());
    return true;
  };
  return Flag(app_->add_option(names, call, help));
}

Flag Command::add_option(const std::string& names, std::string& value, const std::string& help) const {
  return add_option(names, [&value](const std::string& text) { value = text; }, help);
}

Flag Command::add_list(const std::string& names, const StoreTexts& store, const std::string& help) const {
  const CLI::callback_t call = [store](const CLI::results_t& texts) {
    store(texts);
    return true;
  };
  return Flag(app_->add_option(names, call, help)->expected(1, -1)->allow_extra_args());
}

Flag Command::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return Flag(app_->add_flag(names, value, help));
}

void Command::footer(const std::string& text) const {
  app_->footer(text);
}
void Command::callback(const std::function<void()>& run) const {
  app_->callback(run);
}
bool Command::given(const std::string& flag) const {
  return app_->count(flag) > 0;
}

Program::Program(const std::string& name, const std::string& help, const std::string& footer)
    : app_(std::make_unique<CLI::App>(help, name)) {
  app_->set_version_flag("--version", "", "Print the version and exit");
  app_->footer(footer);
  app_->require_subcommand(1);
}

Program::~Program() = default;

Command Program::add_command(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help));
}

void Program::before_command(const std::function<void(const std::string& name)>& run) {
  app_->parse_complete_callback([run, app = app_.get()] {
    for (const CLI::App* command : app->get_subcommands()) run(command->get_name());
  });
}

std::optional<ParseStop> Program::parse(const std::vector<std::string>& words) {
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the end
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const auto named = app_->get_subcommands();
    const CLI::App& command = named.empty() ? *app_ : *named.back();
    const bool about_extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    return ParseStop{.reason = reason_of(error),
                     .message = error.what(),
                     .extras = about_extras ? command.remaining() : std::vector<std::string>(),
                     .command = listed_command(command)};
  }
}

ListedCommand Program::listed() const {
  return listed_command(*app_);
}

}  // namespace manymeans::cli
