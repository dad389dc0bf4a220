// manymeans info: what this build can do on this machine.
#include <manymeans/fit.h>
#include <manymeans/info.h>
#include <manymeans/json.h>

#include "commands/commands.h"
#include "output/text_table.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace manymeans::cli {
namespace {
using Json = nlohmann::ordered_json;

const char* const kExamples =
    "Examples:\n"
    "  manymeans info\n"
    "  manymeans info --json\n\n"
    "'yes' marks what this build has and this machine can use. The others show the\n"
    "reason.";

std::string to_text(const std::string& title, const std::vector<Choice>& choices) {
  std::vector<std::vector<std::string>> rows;
  for (const Choice& choice : choices)
    rows.push_back({"  " + choice.name, choice.available ? "yes" : "no", choice.description});
  return rows.empty() ? "" : title + ":\n" + format_table("lll", rows);
}

std::string to_text(const Info& about) {
  std::string out = fmt::format("manymeans {}\ncompiler: {}\nbuild type: {}\nthreads here: {}\n", about.version,
                                about.compiler, about.build_type, about.threads);
  out += to_text("backends", about.backends);
  out += to_text("instruction sets of the cpu backend, best first", about.instruction_sets);
  out += to_text("initialisations", about.inits);
  out += to_text("readers", about.readers);
  out += to_text("writers", about.writers);
  out += about.devices.empty() ? "devices: none\n" : "devices:\n";
  for (const std::string& device : about.devices) out += "  " + device + "\n";
  return out;
}

Json to_json(const std::vector<Choice>& choices) {
  Json list = Json::array();
  for (const Choice& choice : choices) {
    list.push_back({{"name", choice.name}, {"available", choice.available}, {"description", choice.description}});
  }
  return list;
}

Json to_json(const Info& about) {
  return {{"version", about.version},
          {"compiler", about.compiler},
          {"build_type", about.build_type},
          {"threads", about.threads},
          {"backends", to_json(about.backends)},
          {"instruction_sets", to_json(about.instruction_sets)},
          {"inits", to_json(about.inits)},
          {"readers", to_json(about.readers)},
          {"writers", to_json(about.writers)},
          {"devices", about.devices}};
}

}  // namespace

void add_info_command(Program& program, int& exit_code) {
  const Command app = program.add_command("info", "Say what this build can do on this machine.");
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print one JSON object instead of text.").group("Output");
  app.footer(kExamples);
  app.callback([json, &exit_code] {
    const Info about = info();
    if (*json) {
      print_json(to_json(about).dump(2) + "\n");
    } else {
      print(to_text(about));
    }
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
