// SPDX-License-Identifier: Apache-2.0
//   Loop {body: c, x ─▶ Identity ─▶ Add(x, 0) ─▶ y}     =>      Loop {body: c, x ─▶ y}
// What a rule says of its exactness holds in bodies too.
#include "passes/rewrite_bodies.h"

#include <string>

#include "passes/edit_bodies.h"

namespace octet {
namespace {

class BodyRewriter {
 public:
  BodyRewriter(std::span<const Rule> rules, const RewriteOptions& options)
      : rules_(rules), options_(options) {}

  Result<std::vector<Step>> run(Graph& graph) {
    OCTET_TRY(graph_and_bodies(graph, "", nullptr));
    return std::move(steps_);
  }

 private:
  bool done() const {
    return options_.max_steps >= 0 && static_cast<int>(steps_.size()) >= options_.max_steps;
  }

  /// What a rule asks of bodies (that of an If which is folded) may hold once they are rewritten.
  Status graph_and_bodies(Graph& graph, const std::string& path, const TakenNames* around) {
    for (;;) {
      OCTET_TRY(one(graph, path));
      const size_t before = steps_.size();
      const bool needs_less = OCTET_TRY(
          edit_bodies(graph, path, around,
                      [this](Graph& body, const std::string& inside, const TakenNames& names) {
                        return rewritten(body, inside, names);
                      }));
      if (!needs_less && steps_.size() == before) return ok_status();
      graph.remove_dead();
    }
  }

  Status one(Graph& graph, const std::string& path) {
    if (done()) return ok_status();
    const auto before = static_cast<int>(steps_.size());
    const auto placed = [&](Step step) {
      step.number += before;
      step.node = path + step.node;
      return step;
    };
    RewriteOptions options = options_;
    if (options.max_steps >= 0) options.max_steps -= before;
    if (options_.log) options.log = [&](const Step& step) { options_.log(placed(step)); };
    for (const Step& step : OCTET_TRY(rewrite(graph, rules_, options)))
      steps_.push_back(placed(step));
    return ok_status();
  }

  Result<bool> rewritten(Graph& body, const std::string& path, const TakenNames& around) {
    if (done()) return false;
    Graph typed = body;
    // A branch that does not fit the types at hand is one that is not taken with them.
    if (!infer_types(typed).ok()) return false;
    OCTET_TRY(graph_and_bodies(body, path, &around));
    return true;
  }

  std::span<const Rule> rules_;
  const RewriteOptions& options_;
  std::vector<Step> steps_;
};

} // namespace

Result<std::vector<Step>>
rewrite_with_bodies(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options) {
  return BodyRewriter(rules, options).run(graph);
}

} // namespace octet
