// SPDX-License-Identifier: Apache-2.0
// What a target does not take: one rule is one object, in a file of its own. `check` walks the list
// of the target's family; the id, its clause and its severity are written in the rule and nowhere
// else. docs/targets.md lists all of them, and a test compares.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/infer.h"
#include "targets/checks.h"
#include "targets/mend.h"
#include "targets/tables.h"

#include "octet/target.h"

namespace octet {

/// What a rule may ask of the graph. A body of If, Loop or Scan stands alone.
struct CheckContext {
  const Graph& graph;
  const Uses& uses;
  const TargetDef& target;
  /// Of the model and of all bodies; empty where a body is looked at.
  std::span<const Disagreement> declared = {};

  bool at_least(int version) const { return target.version >= version; } ///< major * 100 + minor
};

struct TargetRule;

/// To the body that is looked at; empty: the model itself.
struct BodyPath {
  std::string text; ///< before the names in it
  std::vector<BodyStep> steps;
};

/// Takes what a rule finds: the place, what is wrong there, and the way out. All else that a
/// finding says is the rule's.
class Found {
 public:
  Found(const CheckContext& context,
        const TargetRule& rule,
        const BodyPath& path,
        std::vector<PlacedFinding>& findings)
      : context_(context), rule_(rule), path_(path), findings_(findings) {}

  void add(const Node& node, std::string message, std::string fix);
  /// A value, or the model.
  void add(const std::string& name, std::string message, std::string fix);

 private:
  const CheckContext& context_;
  const TargetRule& rule_;
  const BodyPath& path_;
  std::vector<PlacedFinding>& findings_;
};

using FindInNode = void(const CheckContext&, const Node&, Found&);
/// Of the model as a whole: called once, and never for a body.
using FindInModel = void(const CheckContext&, Found&);

/// major * 100 + minor, both included; 0: open.
struct Versions {
  int since = 0, until = 0;

  constexpr bool hold(int version) const {
    return version >= since && (until == 0 || version <= until);
  }
};

/// Where a rule of ONNX Runtime holds.
enum class Provider { kAny, kCpu, kCuda };

struct TargetRule {
  std::string_view id;     ///< "zero-point-missing"; what depends on it may be several rules
  std::string_view clause; ///< section of docs/targets.md; empty: the file of the user's target
  Versions versions = {};
  Provider provider = Provider::kAny;
  Severity severity = Severity::kError;
  bool kept_out = false; ///< of a warning: what octet quantizes is to raise none
  int measured = 0;      ///< the version that it was seen on: of earlier ones it is a warning
  std::variant<FindInNode*, FindInModel*> find;
  std::array<Mend, 8> mends = {};   ///< in no order; kNone: no more
  std::string_view lowered_by = {}; ///< the change that writes the model for older versions

  bool holds(const TargetDef& target) const {
    return versions.hold(target.version) &&
           (provider == Provider::kAny || target.cuda == (provider == Provider::kCuda));
  }
  Severity severity_for(const TargetDef& target) const {
    return target.version < measured ? Severity::kWarning : severity;
  }
};

using RuleList = std::span<const TargetRule* const>;

/// In the order in which a node is asked, which is that of its findings.
RuleList rules_of(TargetFamily family);
RuleList tensorrt_rules();
RuleList onnxruntime_rules();
RuleList octet_rules();
/// What a user's own target asks beside the rules of its base.
RuleList custom_rules();

} // namespace octet
