// fit_each: the results of all problems stay here; arrays and dicts are made of them when asked for.
#include <manymeans/manymeans.h>

#include "arrays.h"
#include "fit_parts.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

class EachFits {
 public:
  EachFits(EachResult result, std::vector<int64_t> groups) : result_(std::move(result)), groups_(std::move(groups)) {}

  // The best model of a problem; null where it has none.
  const ModelResult* best(size_t problem) const {
    const FitResult& fit = result_.fits[problem];
    if (fit.models.empty()) return nullptr;
    const int64_t best = fit.best(fit.models[0].k_requested);
    return best < 0 ? nullptr : &fit.models[static_cast<size_t>(best)];
  }

  template <class T, class Get>
  nb::object numbers(T missing, const Get& get) const {
    std::vector<T> all;
    all.reserve(result_.fits.size());
    for (size_t b = 0; b < result_.fits.size(); ++b) {
      const ModelResult* model = best(b);
      all.push_back(model == nullptr ? missing : get(*model));
    }
    return to_numpy(std::move(all));
  }

  nb::object inertia() const {
    return numbers(std::numeric_limits<double>::quiet_NaN(), [](const ModelResult& model) { return model.inertia; });
  }
  nb::object iterations() const {
    return numbers(int64_t{0}, [](const ModelResult& model) { return model.iterations; });
  }
  nb::object clusters() const {
    return numbers(int64_t{0}, [](const ModelResult& model) { return model.k; });
  }

  // Of all rows; -1 where there is no model.
  nb::object labels() const {
    std::vector<int32_t> all(static_cast<size_t>(groups_.back()), -1);
    for (size_t b = 0; b < result_.fits.size(); ++b) {
      const ModelResult* model = best(b);
      if (model == nullptr) continue;
      auto* to = reinterpret_cast<uint32_t*>(all.data()) + groups_[b];  // int32 and uint32 may share their memory
      model->labels.read(0, model->labels.size(), to);
    }
    return to_numpy(std::move(all));
  }

  nb::object centers(size_t problem) const {
    const ModelResult* model = best(problem);
    return model == nullptr ? nb::none() : to_numpy(Matrix(model->prototypes));
  }

  // Of all problems with k clusters each; NaN where there is no model.
  nb::object stacked_centers(int64_t k, int64_t columns, bool wide) const {
    Matrix all(std::ssize(result_.fits) * k, columns, wide ? DataType::kFloat64 : DataType::kFloat32);
    const auto fill = [&]<class T>(std::span<T> values) {
      const auto each = static_cast<size_t>(k * columns);
      for (size_t b = 0; b < result_.fits.size(); ++b) {
        const std::span<T> to = values.subspan(b * each, each);
        const ModelResult* model = best(b);
        if (model == nullptr) {
          std::ranges::fill(to, std::numeric_limits<T>::quiet_NaN());
        } else {
          std::ranges::copy(model->prototypes.values<T>(), to.begin());
        }
      }
    };
    if (wide) {
      fill(all.values<double>());
    } else {
      fill(all.values<float>());
    }
    return to_numpy(std::move(all));
  }

  // None where there is no model.
  nb::list digests() const {
    std::vector<std::string> all(result_.fits.size());
    Waiting().run([&] {
      for (size_t b = 0; b < all.size(); ++b) {
        if (!result_.fits[b].models.empty()) all[b] = result_.fits[b].digest();
      }
    });
    nb::list texts;
    for (const std::string& text : all) texts.append(text.empty() ? nb::none() : nb::object(to_text(text)));
    return texts;
  }

  nb::dict result(size_t problem) const {
    FitResult copy = result_.fits.at(problem);
    return as_dict(copy);
  }

  nb::list warnings() const {
    nb::list all = to_texts(result_.warnings);
    for (size_t b = 0; b < result_.fits.size(); ++b) {
      for (const std::string& text : result_.fits[b].warnings) {
        all.append(to_text("[problem " + std::to_string(b) + "] " + text));
      }
    }
    return all;
  }

  nb::dict errors() const {
    nb::dict all;
    for (const ProblemError& error : result_.errors) {
      all[nb::int_(error.problem())] = nb::make_tuple(static_cast<int>(error.code()), to_text(error.text()));
    }
    return all;
  }

  bool interrupted() const { return result_.interrupted; }

 private:
  EachResult result_;
  std::vector<int64_t> groups_;
};

EachFits fit_problems(const nb::tuple& rows, const nb::dict& options, const nb::dict& each, const nb::dict& given) {
  const PointsView view = points_of(rows[0], nb::cast<bool>(rows[1]));
  const std::span<const double> weights = values_of(rows[2]);
  std::vector<int64_t> groups = vector_of<int64_t>(rows[3]);
  auto fit_options = options_from<EachOptions>(options, [](auto& all, auto&& set) { for_each_option(all, set); });
  fit_options.k_each = vector_of<int64_t>(each["k"]);
  fit_options.seed_each = vector_of<uint64_t>(each["seed"]);
  if (nb::cast<bool>(each["skip"])) fit_options.errors = ProblemErrors::kSkip;
  GivenHooks hooks(given);
  EachResult result;
  // Reports come from any thread; where nobody waits for them, the callback would be called there.
  const bool brief =
      !hooks.hooks().progress && fit_options.k_each.empty() && is_brief_fit(view, fit_options, fit_options.max_iter);
  hooks.waiting().run([&] { result = fit_each(view, weights, groups, fit_options, hooks.hooks()); }, brief);
  return {std::move(result), std::move(groups)};
}

}  // namespace

void add_fitting_each(nb::module_& module) {
  nb::class_<EachFits>(module, "EachFits")
      .def_prop_ro("interrupted", &EachFits::interrupted)
      .def("inertia", &EachFits::inertia)
      .def("iterations", &EachFits::iterations)
      .def("clusters", &EachFits::clusters)
      .def("labels", &EachFits::labels)
      .def("centers", &EachFits::centers, nb::arg("problem"))
      .def("stacked_centers", &EachFits::stacked_centers, nb::arg("k"), nb::arg("columns"), nb::arg("wide"))
      .def("digests", &EachFits::digests)
      .def("result", &EachFits::result, nb::arg("problem"))
      .def("warnings", &EachFits::warnings)
      .def("errors", &EachFits::errors);
  module.def("fit_each", &fit_problems, nb::arg("rows"), nb::arg("options"), nb::arg("each"), nb::arg("hooks"));
}

}  // namespace manymeans::python
