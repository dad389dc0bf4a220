// manymeans inspect: all that is in model files.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "flags/stored_models.h"
#include "output/model_description.h"
#include "output/model_inspection.h"
#include "streams/standard_streams.h"

#include <nlohmann/json.hpp>

#include <memory>

namespace manymeans::cli {
namespace {

struct InspectCommand {
  std::vector<std::string> models;
  bool json = false;
};

const char* const kExamples =
    "Examples:\n"
    "  manymeans inspect out.npz\n"
    "  manymeans inspect monday.npz tuesday.npz --json\n"
    "  manymeans inspect out.npz --json | jq -r '.files[0].models[] | .seed'\n\n"
    "Shows every model (k, seed, inertia, iterations, why it stopped, digest), the\n"
    "sizes and centroids of the clusters of the best of each k, the columns that\n"
    "'manymeans predict' looks for and what becomes of gaps and text in them, the\n"
    "options of the fit, its warnings and the version that wrote the file. --json\n"
    "has 'files', an object for each MODEL, with all centroids. 'manymeans describe'\n"
    "says what a file of points holds.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 out of memory, 1 a bug.";

void run(const InspectCommand& command) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  std::string text;
  for (const std::string& path : command.models) {
    const ModelFile file = read_only_models(path);
    if (command.json) {
      files.push_back(model_inspection_json(path, file));
    } else {
      text += (text.empty() ? "" : "\n") + model_inspection(path, file);
    }
  }
  if (command.json) {
    print_json(text_of({{"files", std::move(files)}}));
  } else {
    print(text);
  }
}

}  // namespace

void add_inspect_command(Program& program, int& exit_code) {
  const Command app = program.add_command("inspect", "Show all that is in model files.");
  const auto command = std::make_shared<InspectCommand>();
  const auto store_models = [command](const std::vector<std::string>& paths) { command->models = paths; };
  app.add_list("MODEL", store_models,
               "Model files (.npz) that 'manymeans fit --model' or 'manymeans regress --model' has written.")
      .required()
      .type_name("");
  app.add_flag("--json", command->json, "Print one JSON object instead of text.").group("Output");
  app.footer(kExamples);
  app.callback([command, &exit_code] {
    run(*command);
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
