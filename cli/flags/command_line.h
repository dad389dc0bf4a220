// The program, its commands and their flags. CLI11 parses them; only command_line.cpp includes it, because each file
// that does takes six seconds more to compile.
#pragma once

#include "output/command_list.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace manymeans::cli {

/// Stores the text of a flag. Throws Error(kUsage) for a wrong one.
using StoreText = std::function<void(const std::string& text)>;
using StoreTexts = std::function<void(const std::vector<std::string>& texts)>;

/// A flag or an argument of a command. A copy is the same flag; the Program owns it.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}

  Flag type_name(const std::string& name) const;  ///< the placeholder of the value in --help
  Flag default_str(const std::string& text) const;
  Flag group(const std::string& title) const;
  Flag required(bool needed = true) const;
  Flag needs(const Flag& other) const;
  Flag excludes(const Flag& other) const;
  /// Returns true if the command line has it.
  bool given() const;

 private:
  CLI::Option* option_;
};

/// A command of the program. A copy is the same command; the Program owns it.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  /// Adds a flag such as "-k,--clusters", or an argument such as "DATA". The target of `store` must outlive the
  /// Program.
  Flag add_option(const std::string& names, const StoreText& store, const std::string& help) const;
  Flag add_option(const std::string& names, std::string& value, const std::string& help) const;
  /// Adds one that takes one text or more.
  Flag add_list(const std::string& names, const StoreTexts& store, const std::string& help) const;
  /// Adds a flag without a value.
  Flag add_flag(const std::string& names, bool& value, const std::string& help) const;

  void footer(const std::string& text) const;
  /// Sets what the command does.
  void callback(const std::function<void()>& run) const;
  /// Returns true if the command line has the flag of this name.
  bool given(const std::string& flag) const;

 private:
  CLI::App* app_;
};

/// Why Program::parse() ran no command.
struct ParseStop {
  enum class Reason : uint8_t { kHelp, kVersion, kMistake };
  Reason reason;
  std::string message;              ///< what is wrong
  std::vector<std::string> extras;  ///< words that were not expected, in their order; empty for other mistakes
  ListedCommand command;            ///< the one named last; the program if none was
};

class Program {
 public:
  Program(const std::string& name, const std::string& help, const std::string& footer);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command add_command(const std::string& name, const std::string& help);
  /// Sets what happens before a command runs. `run` gets the command's name.
  void before_command(const std::function<void(const std::string& name)>& run);
  /// Runs the command that the words name, or says why it did not.
  std::optional<ParseStop> parse(const std::vector<std::string>& words);
  /// Returns the program itself. Its commands are in the order of --help.
  ListedCommand listed() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace manymeans::cli
