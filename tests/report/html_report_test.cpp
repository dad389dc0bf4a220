// Pages: which parts they have, that they are well-formed and small whatever they are about, and the same bytes again.
#include <manymeans/criteria.h>
#include <manymeans/error.h>
#include <manymeans/regress.h>
#include <manymeans/report.h>
#include <manymeans/tree.h>

#include "engine/criteria_of_input.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

constexpr size_t kMaxBytes = 2'000'000;

struct Fitted {
  std::vector<float> values;
  int64_t n, d;
  FitResult fit;

  PointsView points() const { return {values.data(), n, d}; }
  ReportInput input() const {
    ReportInput input;
    input.name = "points.csv";
    input.fit = &fit;
    input.points = points();
    input.times = false;
    return input;
  }
};

std::vector<float> planted(int64_t n, int64_t d, int64_t k) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) values.push_back(normal(random) + static_cast<float>((i % k) * (j % 3 + 1) * 5));
  }
  return values;
}

Fitted fitted(int64_t n, int64_t d, const FitOptions& options) {
  Fitted all{planted(n, d, 4), n, d, {}};
  all.fit = fit(all.points(), {}, options);
  return all;
}

bool has(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

// Empty, or what is wrong: every tag is closed in its order, no text is taken for one.
std::string fault_of(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    if (end == std::string::npos) return "a tag without an end";
    const std::string tag = page.substr(at + 1, end - at - 1), name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (name == "!doctype" || name == "meta" || tag.ends_with("/")) continue;
    if (name.starts_with("/")) {
      if (open.empty() || "/" + open.back() != name)
        return name + " closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else {
      if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos) return "what is " + name;
      open.push_back(name);
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

void check_page(const std::string& page) {
  EXPECT_LT(page.size(), kMaxBytes);
  EXPECT_EQ(fault_of(page), "");
  for (const char* unwanted : {"<script", "http:", "https:", "url(", "nan", "inf\"", "NaN"}) {
    EXPECT_FALSE(has(page, unwanted)) << unwanted;
  }
}

TEST(HtmlReport, HasThePartsThatAFitHas) {
  const Fitted all = fitted(600, 3, {.k = {4}, .models = 5});
  const std::string page = html_report(all.input());
  check_page(page);
  for (const char* part : {"Sizes of the clusters", "Map of the clusters", "What sets clusters apart", "Silhouettes",
                           "Parallel coordinates", "Agreement of the models", "Inertia of every model", "Convergence",
                           "All centroids", "Run"}) {
    EXPECT_TRUE(has(page, std::string("<h2>") + part)) << part;
  }
  for (const char* part : {"Criteria against k", "Search", "Tree of the clusters"}) {
    EXPECT_FALSE(has(page, std::string("<h2>") + part)) << part;
  }
  EXPECT_TRUE(has(page, all.fit.digest()));
  EXPECT_FALSE(has(page, "seconds"));
}

TEST(HtmlReport, NamesTheTreeOfItsLeaves) {
  const Fitted all = fitted(600, 3, {.k = {4}});
  TreeOptions options;
  options.branching = 17;
  ReportInput input = all.input();
  input.tree = &options;
  input.tree_digest = std::string(32, 'a');
  const std::string page = html_report(input);
  check_page(page);
  for (const std::string& part : {input.tree_digest, std::string("branching</td><td class=\"l\">17<")}) {
    EXPECT_TRUE(has(page, part)) << part;
  }
}

TEST(HtmlReport, BeginsWithTheAnswer) {
  const Fitted all = fitted(600, 3, {.k = {4}});
  ReportInput input = all.input();
  std::vector<double> other;
  for (int64_t i = 0; i < 600; ++i) other.push_back(i % 4 == 1 ? 1 : 0);
  std::vector<uint32_t> labels(600);
  all.fit.models[0].labels.read(0, 600, labels.data());
  const std::vector<Trait> traits = {{"kind=second", describe_column(other, labels, {}, 4), true}};
  input.traits = traits;
  input.row_name = [](int64_t row) { return "<" + std::to_string(row) + ">"; };
  const std::string page = html_report(input);
  check_page(page);
  size_t at = 0;
  for (const char* part : {"<title>4 clusters of points.csv", "<h1>4 clusters of points.csv", "<ul class=\"answer\">",
                           "<h2>Cards of the clusters", "<article>", "<h2>Sizes", "<summary>Details of the run",
                           "<h2>All centroids", "<h2>Convergence", "<h2>Run"}) {
    const size_t found = page.find(part);
    ASSERT_NE(found, page.npos) << part;
    EXPECT_GT(found, at) << part;
    at = found;
  }
  EXPECT_TRUE(has(page, "25.0 % of the rows: "));
  EXPECT_TRUE(has(page, "kind=second 100.0 % (all rows 25.0 %)."));
  EXPECT_TRUE(has(page, "typical rows: &lt;"));
}

TEST(HtmlReport, LinearModelsHaveCardsAndProfiles) {
  std::vector<double> rows, marks;
  std::vector<std::string> names = {"<a>", "y"};
  for (int i = 0; i < 80; ++i) {
    rows.insert(rows.end(), {i * 0.5, i % 2 == 0 ? 3 - 2.0 * i : 40 + 1.0 * i});
    marks.push_back(i % 2);
  }
  RegressOptions options;
  options.k = {2};
  options.models = 8;
  const RegressResult result = regress(RegressionRows::with_target({rows.data(), 80, 2}), {}, options);
  const ModelResult& model = result.fit.models[static_cast<size_t>(result.fit.best(2))];
  std::vector<uint32_t> labels(80);
  model.labels.read(0, 80, labels.data());
  const std::vector<Trait> traits = {{"odd", describe_column(marks, labels, {}, 2)}};
  ReportInput input;
  input.fit = &result.fit;
  input.regression = &result;
  input.column_names = names;
  input.traits = traits;
  const std::string page = html_report(input);
  check_page(page);
  EXPECT_TRUE(has(page, "<p>40 rows, 50.0 %, R2 1, residual "));
  EXPECT_TRUE(has(page, "<p>y = 3 - 4 &lt;a&gt;</p>"));
  EXPECT_TRUE(has(page, "<p>y = 40 + 2 &lt;a&gt;</p>"));
  EXPECT_TRUE(has(page, "50.0 % of the rows: R2 1, odd 1 (all rows 0.5)."));
  EXPECT_TRUE(has(page, "<td>+1.0 sd, z +8.9</td>"));
  EXPECT_FALSE(has(page, "typical rows"));
  for (const char* option : {"k", "stop", "ridge", "intercept", "swaps", "degree"}) {
    EXPECT_TRUE(has(page, fmt::format("<tr><td class=\"l\">{}</td>", option))) << option;
  }
  for (const char* option : {"metric", "min_size", "max_size", "products"}) {
    EXPECT_FALSE(has(page, fmt::format("<tr><td class=\"l\">{}</td>", option))) << option;
  }
}

TEST(HtmlReport, HeatMapsHaveNumbersAndTwelveClustersDiffer) {
  const Fitted all = fitted(600, 3, {.k = {12}});
  const std::string page = html_report(all.input());
  check_page(page);
  EXPECT_TRUE(has(page, "<path class=\"k0 o\""));  // the ninth cluster: the first colour, not the first shape
  EXPECT_TRUE(has(page, "<circle class=\"k0 o\""));
  size_t numbers = 0;
  for (size_t at = page.find("class=\"pos\""); at != page.npos; at = page.find("class=\"pos\"", at + 1)) {
    const size_t text = page.find("<text", at);
    if (text != page.npos && page.find("<rect", at) > text) ++numbers;
  }
  EXPECT_GT(numbers, 10U);
}

TEST(HtmlReport, SharesOfAxesAreNoMoreThanAll) {
  for (int64_t d = 3; d < 9; ++d) {  // three centroids lie in a plane, so that the shares are all
    const std::string page = html_report(fitted(200, d, {.k = {3}}).input());
    const auto share = [&](const char* axis) {
      const size_t at = page.find(axis);
      return at == page.npos ? NAN : std::stod(page.substr(page.find('(', at) + 1));
    };
    EXPECT_LE(share("principal axis 1") + share("principal axis 2"), 100 + 1e-9) << d;
    EXPECT_GT(share("principal axis 1") + share("principal axis 2"), 99) << d;
  }
}

TEST(HtmlReport, HasThePartsOfAChoiceAndOfASearch) {
  const std::vector<float> values = planted(300, 2, 3);
  const PointsView points{values.data(), 300, 2};
  ChooseOptions options;
  options.fit.k = {2, 3, 4, 5};
  options.fit.models = 3;
  options.references = 3;
  options.sample = 50;
  const ChosenK chosen = choose_k(points, options);
  ReportInput input;
  input.fit = &chosen.fit;
  input.chosen = &chosen;
  input.points = points;
  const std::string page = html_report(input);
  check_page(page);
  for (const char* part : {"<h2>Criteria against k", "<h2>Tree of the clusters over k", "Recommended: <strong>k = 3",
                           "Gap statistic: chooses", "time, fit"}) {
    EXPECT_TRUE(has(page, part)) << part;
  }
  SearchOptions wanted;
  wanted.k = {6};
  wanted.rounds = 3;
  const SearchResult found = search(points, {}, wanted);
  ReportInput of_search;
  of_search.fit = &found.fit;
  of_search.searches = found.searches;
  of_search.points = points;
  of_search.times = false;
  const std::string search_page = html_report(of_search);
  check_page(search_page);
  EXPECT_TRUE(has(search_page, "<h2>Search"));
  EXPECT_TRUE(has(search_page, ">round<"));
  const size_t passes = search_page.find("<h2>Convergence"), end = search_page.find("</section>", passes);
  ASSERT_NE(passes, search_page.npos);
  EXPECT_LT(search_page.find("<circle class=\"k0\"", passes), end) << "one pass with changes is no line";
}

TEST(HtmlReport, IsTheSameBytesAgain) {
  const FitOptions options{.k = {3, 5}, .models = 3, .threads = 2};
  const Fitted one = fitted(500, 4, options), two = fitted(500, 4, options);
  EXPECT_EQ(html_report(one.input()), html_report(two.input()));
  ReportInput other = one.input();
  other.threads = 3;
  EXPECT_EQ(html_report(one.input()), html_report(other));
}

TEST(HtmlReport, DoesWithoutPointsAndAsAPart) {
  const Fitted all = fitted(200, 2, {.k = {3}});
  ReportInput input = all.input();
  input.points = {};
  input.whole = false;
  const std::string part = html_report(input);
  check_page(part);
  EXPECT_TRUE(part.starts_with("<style>"));
  EXPECT_FALSE(has(part, "<body"));
  EXPECT_TRUE(has(part, "The points were not given"));
  EXPECT_FALSE(has(part, "<h2>Silhouettes"));
}

TEST(HtmlReport, EscapesWhateverNamesHold) {
  Fitted all = fitted(150, 60, {.k = {3}, .models = 2});
  std::vector<std::string> names;
  for (int j = 0; j < 60; ++j) {
    names.push_back("<script>alert(" + std::to_string(j) + ")</script>\"' & \xFF \xE2\x80\xAE" +
                    std::string(2000, 'x'));
  }
  all.fit.warnings = {"<img src=x onerror=alert(1)>"};
  ReportInput input = all.input();
  input.name = "<b>\"points\"</b>.csv";
  input.column_names = names;
  const std::string page = html_report(input);
  check_page(page);
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_FALSE(has(page, "<b>"));
  EXPECT_TRUE(has(page, "&lt;script&gt;"));
  EXPECT_TRUE(has(page, "the 40 of 60 columns"));
  for (const int column : {7, 8}) EXPECT_TRUE(has(page, " #" + std::to_string(column) + "</text>"));  // told apart
}

TEST(HtmlReport, StaysSmallWithManyClustersAndColumns) {
  const Fitted all = fitted(1500, 500, {.k = {1000}, .models = 2, .max_iter = 2});
  const std::string page = html_report(all.input());
  check_page(page);
  EXPECT_TRUE(has(page, "the 40 largest of 1,000 clusters"));
}

TEST(HtmlReport, StandsWhatIsHardlyThere) {
  for (const int64_t k : {1, 2}) {
    const Fitted one_column = fitted(40, 1, {.k = {k}});
    check_page(html_report(one_column.input()));
  }
  Fitted equal{std::vector<float>(60, 5.0F), 30, 2, {}};
  equal.fit = fit(equal.points(), {}, {.k = {3}, .models = 2});
  check_page(html_report(equal.input()));
  const Fitted own_clusters = fitted(6, 2, {.k = {6}, .models = 3});
  check_page(html_report(own_clusters.input()));
  const Fitted by_angle = fitted(60, 3, {.k = {3}, .metric = Metric::kCosine});
  check_page(html_report(by_angle.input()));
}

TEST(HtmlReport, RefusesWhatDoesNotBelongTogether) {
  const Fitted all = fitted(100, 3, {.k = {2}});
  ReportInput input = all.input();
  input.points.n = 99;
  EXPECT_THROW(html_report(input), Error);
  input.fit = nullptr;
  EXPECT_THROW(html_report(input), Error);
  FitResult not_begun = all.fit;
  not_begun.models[0].stop_reason = StopReason::kNotBegun;
  input.fit = &not_begun;
  EXPECT_THROW(html_report(input), Error);
}

TEST(HtmlReport, HasTheSilhouettesThatCriteriaHas) {
  const Fitted all = fitted(300, 3, {.k = {4}});
  std::vector<uint32_t> labels(300);
  all.fit.models[0].labels.read(0, 300, labels.data());
  std::vector<int64_t> rows(300);
  std::iota(rows.begin(), rows.end(), 0);
  ThreadPool pool(2);
  const Input input = prepare_input(all.points(), {}, pool);
  const std::vector<double> own = squared_silhouettes(input, labels, rows, pool);
  const double mean = std::accumulate(own.begin(), own.end(), 0.0) / 300;
  EXPECT_NEAR(mean, criteria(all.points(), labels).squared_silhouette, 1e-12);
}

}  // namespace
}  // namespace manymeans::test
