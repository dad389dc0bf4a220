// The file of a checkpoint: what goes in comes out, and nothing that is damaged does.
#include "io/results/checkpoint_file.h"

#include "io/files.h"
#include "io/numpy/npz.h"

#include <cmath>
#include <cstring>

namespace manymeans::test {
namespace {

Matrix make_prototypes(int64_t k, DataType type) {
  Matrix result(k, 2, type);
  for (size_t i = 0; i < static_cast<size_t>(2 * k); ++i) {
    if (type == DataType::kFloat64) {
      result.values<double>()[i] = 1.0 / static_cast<double>(i + 3);
    } else {
      result.values<float>()[i] = 1.0f / static_cast<float>(i + 3);
    }
  }
  return result;
}

CheckpointFile make_file(DataType type) {
  CheckpointFile file;
  file.identity = {{{"k", "2,3"}, {"stop", "caf\xc3\xa9"}}, 100, 2, type, ContentHash{1} << 100 | 7, 0, 9};
  file.models.resize(4);
  ModelState& begun = file.models[1];
  begun.stage = ModelStage::kInitialised;
  begun.prototypes = make_prototypes(3, prototype_type(type));
  ModelState& model = file.models[3];
  model.stage = ModelStage::kLabelled;
  model.prototypes = make_prototypes(2, prototype_type(type));
  model.iterations = 17;
  model.changed = 100;
  model.first_pass = model.stopping = model.relocated = model.cycle_begun = true;
  model.stop_reason = stop_reason_named("shift");
  model.label_change = LabelSum{0xfedcba9876543210} << 64 | 0x0123456789abcdef;
  model.cycle_saved = ~LabelSum{5};
  model.cycle_power = uint64_t{1} << 63;
  model.cycle_step = 12;
  model.last_inertia = 1.0 / 3;
  model.warnings = {"one", "two \xe2\x80\x93 three"};
  return file;
}

void expect_equal(const ModelState& a, const ModelState& b) {
  EXPECT_EQ(a.stage, b.stage);
  EXPECT_EQ(a.prototypes.rows(), b.prototypes.rows());
  ASSERT_EQ(a.prototypes.bytes().size(), b.prototypes.bytes().size());
  if (!a.prototypes.empty()) {
    EXPECT_EQ(a.prototypes.type(), b.prototypes.type());
    EXPECT_EQ(std::memcmp(a.prototypes.bytes().data(), b.prototypes.bytes().data(), a.prototypes.bytes().size()), 0);
  }
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.changed, b.changed);
  EXPECT_EQ(a.first_pass, b.first_pass);
  EXPECT_EQ(a.stopping, b.stopping);
  EXPECT_EQ(a.relocated, b.relocated);
  EXPECT_EQ(a.stop_reason, b.stop_reason);
  EXPECT_TRUE(a.label_change == b.label_change);
  EXPECT_TRUE(a.cycle_saved == b.cycle_saved);
  EXPECT_EQ(a.cycle_power, b.cycle_power);
  EXPECT_EQ(a.cycle_step, b.cycle_step);
  EXPECT_EQ(a.cycle_begun, b.cycle_begun);
  EXPECT_EQ(std::isnan(a.last_inertia), std::isnan(b.last_inertia));
  EXPECT_TRUE(std::isnan(a.last_inertia) || a.last_inertia == b.last_inertia);
  EXPECT_EQ(a.warnings, b.warnings);
}

// Texts of no characters, as many as one likes, take no room in a file.
TEST(CheckpointFile, TextsOfNoSize) {
  const Folder folder;
  save_checkpoint(folder / "c", make_file(DataType::kFloat32));
  const std::string good = content_of(folder / "c");
  const ZipReader zip(std::as_bytes(std::span(good)), "c");
  OutputFile file(folder / "forged");
  ZipWriter forged(file);
  for (const std::string& name : zip.names()) {
    if (name == "option_names.npy") {
      forged.add(name, make_npy_header("<U0", std::vector<int64_t>{1000000000000}), {});
    } else {
      forged.add(name, "", zip.read(name));
    }
  }
  forged.finish();
  file.commit();
  expect_error(ErrorCode::kBadData, {"forged, option_names", "(1000000000000,)", "values of no bytes"},
               [&] { load_checkpoint(folder / "forged"); });
}

TEST(CheckpointFile, RoundTrip) {
  const Folder folder;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    const CheckpointFile before = make_file(type);
    save_checkpoint(folder / "c", before);
    const CheckpointFile after = load_checkpoint(folder / "c");
    EXPECT_EQ(after.identity.options, before.identity.options);
    EXPECT_EQ(after.identity.rows, 100);
    EXPECT_EQ(after.identity.columns, 2);
    EXPECT_EQ(after.identity.type, type);
    EXPECT_TRUE(after.identity.points == before.identity.points);
    EXPECT_TRUE(after.identity.weights == 0);
    EXPECT_TRUE(after.identity.initial == 9);
    ASSERT_EQ(after.models.size(), 4u);
    for (size_t i = 0; i < 4; ++i) expect_equal(after.models[i], before.models[i]);
  }
}

TEST(CheckpointFile, OfAFitThatHasNotBegun) {
  const Folder folder;
  CheckpointFile file = make_file(DataType::kFloat32);
  file.models.assign(3, {});
  save_checkpoint(folder / "c", file);
  EXPECT_EQ(load_checkpoint(folder / "c").models.size(), 3u);
}

// Whoever cuts a file or turns a bit of it is told; a few bits of an archive say nothing, like the date of a member.
TEST(CheckpointFile, DamagedFilesAreRefusedOrSayTheSame) {
  const Folder folder;
  const CheckpointFile before = make_file(DataType::kFloat32);
  save_checkpoint(folder / "c", before);
  const std::string whole = content_of(folder / "c");
  const auto load = [&](const std::string& bytes) {
    try {
      const CheckpointFile after = load_checkpoint(folder.file("damaged", bytes));
      ASSERT_EQ(after.models.size(), before.models.size());
      for (size_t i = 0; i < after.models.size(); ++i) expect_equal(after.models[i], before.models[i]);
      EXPECT_EQ(after.identity.options, before.identity.options);
      EXPECT_TRUE(after.identity.points == before.identity.points);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData) << error.what();
      EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos) << error.what();
    }
  };
  for (size_t size = 0; size < whole.size(); size += 1 + size / 97) {
    expect_error(ErrorCode::kBadData, {"damaged"},
                 [&] { load_checkpoint(folder.file("damaged", whole.substr(0, size))); });
  }
  for (size_t byte = 0; byte < whole.size(); byte += 1 + byte % 11) {
    std::string turned = whole;
    turned[byte] = static_cast<char>(turned[byte] ^ (1 << byte % 8));
    load(turned);
    if (HasFailure()) FAIL() << "byte " << byte;
  }
}

// Changed on purpose, with right checksums.
TEST(CheckpointFile, ValuesOutOfRangeAreRefused) {
  const Folder folder;
  const auto refused = [&](const std::string& text, const auto& change) {
    CheckpointFile file = make_file(DataType::kFloat32);
    change(file);
    save_checkpoint(folder / "c", file);
    expect_error(ErrorCode::kBadData, {text}, [&] { load_checkpoint(folder / "c"); });
  };
  refused("rows", [](CheckpointFile& f) { f.identity.rows = 0; });
  refused("prototypes", [](CheckpointFile& f) { f.identity.columns = 3; });
  refused("prototypes", [](CheckpointFile& f) { f.models[1].stage = ModelStage::kNotBegun; });
  refused("prototypes", [](CheckpointFile& f) { f.models[0].stage = ModelStage::kLabelled; });
  refused("stage", [](CheckpointFile& f) { f.models[0].stage = static_cast<ModelStage>(3); });
  refused("iterations", [](CheckpointFile& f) { f.models[3].iterations = -1; });
  refused("changed", [](CheckpointFile& f) { f.models[3].changed = 101; });
  refused("stop_reason", [](CheckpointFile& f) { f.models[3].stop_reason = StopReason{255}; });
  refused("model 4: finite", [](CheckpointFile& f) {
    f.models[3].prototypes.values<float>()[3] = std::numeric_limits<float>::infinity();
  });
}

TEST(CheckpointFile, OtherFilesAreRefused) {
  const Folder folder;
  expect_error(ErrorCode::kBadData, {"text"}, [&] { load_checkpoint(folder.file("text", "1,2\n")); });
  expect_error(ErrorCode::kBadData, {"nowhere"}, [&] { load_checkpoint(folder / "nowhere"); });
  {
    OutputFile out(folder / "other.npz");
    NpzWriter npz(out);
    npz.add_number("format_version", 2);
    npz.finish();
    out.commit();
  }
  expect_error(ErrorCode::kBadData, {"other.npz", "the format is 2"}, [&] { load_checkpoint(folder / "other.npz"); });
}

}  // namespace
}  // namespace manymeans::test
