// SPDX-License-Identifier: Apache-2.0
// Parsing the textual form (grammar: octet/graph_text.h). Recursive descent with one token of
// look-ahead; subgraphs nest at most kMaxSubgraphDepth deep.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

#include "core/format.h"
#include "graph/serialized.h"
#include "graph/text_lexer.h"
#include "graph/verify.h"

#include "octet/graph_text.h"

namespace octet {
namespace {

using Kind = Token::Kind;

std::string unhex(std::string_view text) {
  std::string out;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::strtol(std::string(text.substr(i, 2)).c_str(), nullptr, 16));
  return out;
}

bool is_float_text(std::string_view t) {
  return t.find_first_of(".eE") != std::string_view::npos ||
         t.find("nan") != std::string_view::npos || t.find("inf") != std::string_view::npos;
}

class TextParser {
 public:
  TextParser(Lexer& lexer, const Graph* weights, std::vector<DrawnConstant>* drawn)
      : lexer_(lexer), weights_(weights), drawn_(drawn) {}

  Status start() { return advance(); }

  /// A graph up to the end of the text, or to a closing brace for a subgraph.
  Result<Graph> graph(const Graph* outer, std::vector<ValueId>* captures, int depth) {
    if (depth > kMaxSubgraphDepth)
      return at(fmt::format("subgraphs nest deeper than {}", kMaxSubgraphDepth));
    Graph g;
    OCTET_TRY(skip_newlines());
    OCTET_TRY(expect_word("graph"));
    g.name = OCTET_TRY(name_token("a name for the graph"));
    if (token_.kind == Kind::kWord && token_.text == "opset") OCTET_TRY(opsets(g));
    OCTET_TRY(skip_newlines());
    while (token_.kind != Kind::kEnd && !token_.is('}')) {
      OCTET_TRY(statement(g, outer, captures, depth));
      if (token_.kind != Kind::kNewline && token_.kind != Kind::kEnd && !token_.is('}'))
        return at("expected the end of the statement");
      OCTET_TRY(skip_newlines());
    }
    return g;
  }

 private:
  Error at(std::string_view what) const {
    return error("line {}: {}, found {}", token_.line, what, token_.describe());
  }
  Status advance() {
    token_ = OCTET_TRY(lexer_.next());
    return ok_status();
  }
  Status skip_newlines() {
    while (token_.kind == Kind::kNewline)
      OCTET_TRY(advance());
    return ok_status();
  }
  Status expect(char c) {
    if (!token_.is(c)) return at(fmt::format("expected '{}'", c));
    return advance();
  }
  Status expect_word(std::string_view word) {
    if (token_.kind != Kind::kWord || token_.text != word)
      return at(fmt::format("expected \"{}\"", word));
    return advance();
  }
  Result<std::string> name_token(std::string_view what) {
    if (token_.kind != Kind::kWord && token_.kind != Kind::kString)
      return at(fmt::format("expected {}", what));
    std::string text = token_.text;
    OCTET_TRY(advance());
    return text;
  }
  Result<int64_t> integer() {
    int64_t v = 0;
    const char* end = token_.text.data() + token_.text.size();
    if (token_.kind != Kind::kNumber || std::from_chars(token_.text.data(), end, v).ptr != end)
      return at("expected an integer");
    OCTET_TRY(advance());
    return v;
  }

  Status opsets(Graph& g) {
    OCTET_TRY(advance());
    OCTET_TRY(expect('('));
    while (!token_.is(')')) {
      const std::string domain = OCTET_TRY(name_token("a domain"));
      OCTET_TRY(expect('='));
      g.opsets[domain] = OCTET_TRY(integer());
      if (token_.is(',')) OCTET_TRY(advance());
    }
    return expect(')');
  }

  Status statement(Graph& g, const Graph* outer, std::vector<ValueId>* captures, int depth) {
    if (token_.kind == Kind::kWord) {
      const std::string word = token_.text;
      if (word == "input" || word == "output" || word == "capture" || word == "const") {
        OCTET_TRY(advance());
        const std::string value_name = OCTET_TRY(name_token("a value's name"));
        OCTET_TRY(expect(':'));
        if (word == "const") return constant(g, value_name, depth);
        TypeInfo type = OCTET_TRY(this->type());
        if (word == "output") return output(g, value_name, std::move(type));
        if (g.find_value(value_name))
          return error("line {}: value \"{}\" is defined twice", token_.line, value_name);
        if (word == "input") {
          g.add_input(value_name, std::move(type));
          return ok_status();
        }
        return capture(g, value_name, std::move(type), outer, captures);
      }
    }
    return node(g, depth);
  }

  Status capture(Graph& g,
                 const std::string& value_name,
                 TypeInfo type,
                 const Graph* outer,
                 std::vector<ValueId>* captures) {
    const auto found = outer ? outer->find_value(value_name) : std::nullopt;
    if (!found) return error("line {}: nothing outside is called \"{}\"", token_.line, value_name);
    g.add_capture(value_name, *found, std::move(type));
    if (std::find(captures->begin(), captures->end(), *found) == captures->end())
      captures->push_back(*found);
    return ok_status();
  }

  Status output(Graph& g, const std::string& value_name, TypeInfo type) {
    const auto found = g.find_value(value_name);
    if (!found) return error("line {}: output \"{}\" is not defined", token_.line, value_name);
    if (type.type != DType::kUndefined || !type.opaque.empty()) g.set_type(*found, std::move(type));
    g.mark_output(*found);
    return ok_status();
  }

  Status constant(Graph& g, const std::string& value_name, int depth) {
    const int line = token_.line;
    const auto [dtype, shape] = OCTET_TRY(constant_type());
    OCTET_TRY(expect('='));
    const bool is_drawn = token_.kind == Kind::kWord && token_.text == "init";
    Tensor t = is_drawn ? OCTET_TRY(drawn_later(dtype, shape, depth))
                        : OCTET_TRY(elements(dtype, shape, line));
    if (g.find_value(value_name))
      return error("line {}: value \"{}\" is defined twice", token_.line, value_name);
    const ValueId id = g.add_constant(value_name, std::move(t));
    if (is_drawn) drawn_->back().value = id;
    return ok_status();
  }

  /// `init`, `init he`, `init normal 0.02`.
  Result<Tensor> drawn_later(DType type, const Shape& shape, int depth) {
    constexpr int64_t kMostDrawn = int64_t{1} << 28;
    if (drawn_ == nullptr || depth > 0)
      return at(depth > 0 ? "constants of a body are not drawn; give its numbers, or write it "
                            "outside"
                          : "constants are drawn by octet train and octet assemble; here they need "
                            "their numbers");
    OCTET_TRY(advance());
    DrawnConstant one;
    if (token_.kind == Kind::kWord) one.rule = OCTET_TRY(name_token("a rule"));
    if (token_.kind == Kind::kNumber) {
      one.number = std::strtod(token_.text.c_str(), nullptr);
      if (one.rule != "normal" || !(one.number > 0 && std::isfinite(one.number)))
        return at("a number above 0 goes with init normal");
      OCTET_TRY(advance());
    }
    drawn_elements_ += OCTET_TRY(element_count(shape));
    if (drawn_elements_ > kMostDrawn)
      return at(fmt::format("more than {} elements are not drawn", kMostDrawn));
    drawn_->push_back(std::move(one));
    return Tensor::zeros(type, shape);
  }

  Result<std::pair<DType, Shape>> constant_type() {
    const int line = token_.line;
    const TypeInfo info = OCTET_TRY(type());
    std::optional<Shape> shape = info.static_shape();
    if (!shape) return error("line {}: a constant needs a constant shape", line);
    return std::pair(info.type, std::move(*shape));
  }

  Result<TypeInfo> type() {
    const std::string text = OCTET_TRY(name_token("a type"));
    TypeInfo info;
    if (text == "opaque") {
      OCTET_TRY(expect('('));
      info.opaque = unhex(OCTET_TRY(name_token("hex digits")));
      OCTET_TRY(expect(')'));
      return info;
    }
    const std::optional<DType> dtype = parse_dtype(text);
    if (!dtype && text != "undefined")
      return error("line {}: \"{}\" is no element type", token_.line, text);
    info.type = dtype.value_or(DType::kUndefined);
    if (!token_.is('[')) return at("expected '[' and a shape");
    std::vector<Dim> dims;
    for (;;) {
      const std::string raw = lexer_.raw_until(']');
      OCTET_TRY(advance());
      if (raw == "*" && dims.empty() && token_.is(']')) {
        OCTET_TRY(advance());
        return info;
      }
      if (!raw.empty())
        dims.push_back(OCTET_TRY_WITH(Dim::parse(raw), fmt::format("line {}", token_.line)));
      if (token_.is(',') && !raw.empty()) continue;
      OCTET_TRY(expect(']'));
      info.shape = std::move(dims);
      return info;
    }
  }

  /// `f32[2] = [1, 2]` or `f32[2], [1, 2]`; `@hash` in place of the list.
  Result<Tensor> tensor(char separator) {
    const int line = token_.line;
    const auto [dtype, shape] = OCTET_TRY(constant_type());
    OCTET_TRY(expect(separator));
    return elements(dtype, shape, line);
  }

  Result<Tensor> elements(DType type, const Shape& shape, int line) {
    if (token_.is('@')) return elided(type, shape);
    OCTET_TRY(expect('['));
    std::vector<std::string> items;
    OCTET_TRY(skip_newlines());
    while (!token_.is(']')) {
      if (token_.kind == Kind::kEnd || token_.kind == Kind::kPunctuation)
        return at("expected an element or ']'");
      items.push_back(token_.text);
      OCTET_TRY(advance());
      OCTET_TRY(skip_newlines());
      if (token_.is(',')) OCTET_TRY(advance());
      OCTET_TRY(skip_newlines());
    }
    OCTET_TRY(advance());
    return OCTET_TRY_WITH(from_items(type, shape, std::move(items)), fmt::format("line {}", line));
  }

  static Result<Tensor> from_items(DType type, const Shape& shape, std::vector<std::string> items) {
    const int64_t count = OCTET_TRY(element_count(shape));
    if (count != static_cast<int64_t>(items.size()))
      return error("shape {} wants {} elements but {} are given", to_string(shape), count,
                   items.size());
    if (type == DType::kString) return Tensor::strings(shape, std::move(items));
    if (type == DType::kInt64 || type == DType::kUint64) {
      Tensor t = OCTET_TRY(Tensor::zeros(type, shape));
      for (size_t i = 0; i < items.size(); ++i) {
        const char* begin = items[i].data();
        const char* end = begin + items[i].size();
        const bool done =
            type == DType::kInt64
                ? std::from_chars(begin, end, t.mutable_data<int64_t>()[i]).ptr == end
                : std::from_chars(begin, end, t.mutable_data<uint64_t>()[i]).ptr == end;
        if (!done) return error("\"{}\" is no {}", items[i], name(type));
      }
      return t;
    }
    std::vector<double> values;
    for (const std::string& item : items) {
      char* end = nullptr;
      values.push_back(std::strtod(item.c_str(), &end));
      if (item.empty() || *end != '\0') return error("\"{}\" is no number", item);
    }
    return Tensor::from_doubles(type, shape, values);
  }

  Result<Tensor> elided(DType type, const Shape& shape) {
    const std::string hash_text = lexer_.raw_until(')');
    OCTET_TRY(advance());
    const uint64_t hash = std::strtoull(hash_text.c_str(), nullptr, 16);
    if (weights_ && by_hash_.empty())
      for (const ValueId id : weights_->constants())
        by_hash_.emplace(weights_->value(id).constant.content_hash(), weights_->value(id).constant);
    const auto found = by_hash_.find(hash);
    if (found == by_hash_.end() || found->second.type() != type || found->second.shape() != shape)
      return error("line {}: the constant @{} was left out when this was printed; give the model "
                   "that it came from for its weights",
                   lexer_.line(), hash_text);
    return found->second;
  }

  Status node(Graph& g, int depth) {
    std::vector<std::string> outputs;
    std::string word = OCTET_TRY(name_token("a statement"));
    if (token_.is(',') || token_.is('=')) {
      outputs.push_back(word);
      while (token_.is(',')) {
        OCTET_TRY(advance());
        outputs.push_back(OCTET_TRY(name_token("an output's name")));
      }
      OCTET_TRY(expect('='));
      word = OCTET_TRY(name_token("an operator"));
    }
    Node n;
    const size_t dot = word.rfind('.');
    n.op_type = dot == std::string::npos ? word : word.substr(dot + 1);
    if (dot != std::string::npos) n.domain = word.substr(0, dot);
    OCTET_TRY(expect('('));
    while (!token_.is(')')) {
      const int line = token_.line;
      const bool omitted = token_.kind == Kind::kWord && token_.text == "_";
      const std::string in = OCTET_TRY(name_token("an input's name"));
      const auto found = omitted ? std::optional(ValueId{}) : g.find_value(in);
      if (!found) return error("line {}: value \"{}\" is not defined", line, in);
      n.inputs.push_back(*found);
      if (token_.is(',')) OCTET_TRY(advance());
    }
    OCTET_TRY(advance());
    if (token_.is('{')) OCTET_TRY(attributes(g, n, depth));
    if (token_.kind == Kind::kString) {
      n.name = token_.text;
      OCTET_TRY(advance());
    }
    for (const std::string& out : outputs) {
      if (out == "_") {
        n.outputs.emplace_back();
        continue;
      }
      if (g.find_value(out))
        return error("line {}: value \"{}\" is defined twice", token_.line, out);
      n.outputs.push_back(g.add_value(out));
    }
    g.add_node(std::move(n));
    return ok_status();
  }

  Status attributes(const Graph& g, Node& n, int depth) {
    OCTET_TRY(advance());
    OCTET_TRY(skip_newlines());
    while (!token_.is('}')) {
      const std::string key = OCTET_TRY(name_token("an attribute's name"));
      OCTET_TRY(expect('='));
      n.attributes[key] = OCTET_TRY(attribute(g, n, depth));
      OCTET_TRY(skip_newlines());
      if (token_.is(',')) OCTET_TRY(advance());
      OCTET_TRY(skip_newlines());
    }
    return advance();
  }

  Result<Attribute> attribute(const Graph& g, Node& n, int depth) {
    Attribute a;
    if (token_.is('[')) {
      OCTET_TRY(list(a, g, n, depth));
      return a;
    }
    if (token_.is('{')) {
      OCTET_TRY(advance());
      a.value = GraphPtr(std::make_shared<Graph>(OCTET_TRY(graph(&g, &n.captures, depth + 1))));
      OCTET_TRY(expect('}'));
      return a;
    }
    const Token t = token_;
    OCTET_TRY(advance());
    if (t.kind == Kind::kString) {
      a.value = t.text;
    } else if (t.kind == Kind::kNumber || t.text == "nan" || t.text == "inf" || t.text == "-inf") {
      OCTET_TRY(number(a, t));
    } else if (t.text == "tensor") {
      OCTET_TRY(expect('('));
      a.value = OCTET_TRY(tensor(','));
      OCTET_TRY(expect(')'));
    } else if (t.text == "ref" || t.text == "raw") {
      OCTET_TRY(call(a, t.text));
    } else if (token_.is('[')) {
      OCTET_TRY(empty_list(a, t));
    } else if (t.text != "none") {
      return error("line {}: expected an attribute's value, found {}", t.line, t.describe());
    }
    return a;
  }

  static Status number(Attribute& a, const Token& t) {
    if (is_float_text(t.text)) {
      a.value = std::strtof(t.text.c_str(), nullptr);
      return ok_status();
    }
    int64_t v = 0;
    const char* end = t.text.data() + t.text.size();
    if (std::from_chars(t.text.data(), end, v).ptr != end)
      return error("line {}: \"{}\" is no number", t.line, t.text);
    a.value = v;
    return ok_status();
  }

  Status call(Attribute& a, const std::string& what) {
    OCTET_TRY(expect('('));
    if (what == "ref") {
      a.reference = OCTET_TRY(name_token("an attribute's name"));
      OCTET_TRY(expect(','));
      a.onnx_type = static_cast<int32_t>(OCTET_TRY(integer()));
    } else {
      SerializedAttribute raw;
      raw.field = static_cast<int32_t>(OCTET_TRY(integer()));
      OCTET_TRY(expect(','));
      raw.bytes = unhex(OCTET_TRY(name_token("hex digits")));
      a.value = std::make_shared<const SerializedAttribute>(std::move(raw));
    }
    return expect(')');
  }

  Status empty_list(Attribute& a, const Token& t) {
    OCTET_TRY(advance());
    OCTET_TRY(expect(']'));
    if (t.text == "ints")
      a.value = std::vector<int64_t>{};
    else if (t.text == "floats")
      a.value = std::vector<float>{};
    else if (t.text == "strings")
      a.value = std::vector<std::string>{};
    else if (t.text == "tensors")
      a.value = std::vector<Tensor>{};
    else if (t.text == "graphs")
      a.value = std::vector<GraphPtr>{};
    else
      return error("line {}: \"{}[]\" is no kind of list", t.line, t.text);
    return ok_status();
  }

  template <class T>
  static Status append(Attribute& a, const T& item, int line) {
    if (a.value.index() == 0) a.value = std::vector<T>{};
    auto* items = std::get_if<std::vector<T>>(&a.value);
    if (!items) return error("line {}: the items of a list must be of one kind", line);
    items->push_back(item);
    return ok_status();
  }

  Status list(Attribute& a, const Graph& g, Node& n, int depth) {
    OCTET_TRY(advance());
    OCTET_TRY(skip_newlines());
    while (!token_.is(']')) {
      const int line = token_.line;
      if (token_.is('[')) return at("lists do not nest");
      const Attribute item = OCTET_TRY(attribute(g, n, depth));
      OCTET_TRY(std::visit(
          [&](const auto& v) -> Status {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, float> ||
                          std::is_same_v<T, std::string> || std::is_same_v<T, Tensor> ||
                          std::is_same_v<T, GraphPtr>)
              return append(a, v, line);
            else
              return error("line {}: such an item cannot stand in a list", line);
          },
          item.value));
      OCTET_TRY(skip_newlines());
      if (token_.is(',')) OCTET_TRY(advance());
      OCTET_TRY(skip_newlines());
    }
    return advance();
  }

  Lexer& lexer_;
  const Graph* weights_;
  std::vector<DrawnConstant>* drawn_;
  int64_t drawn_elements_ = 0;
  std::map<uint64_t, Tensor> by_hash_;
  Token token_;
};

} // namespace

Result<Graph>
parse_graph(std::string_view text, const Graph* weights, std::vector<DrawnConstant>* drawn) {
  Lexer lexer(text);
  TextParser parser(lexer, weights, drawn);
  OCTET_TRY(parser.start());
  Graph g = OCTET_TRY(parser.graph(nullptr, nullptr, 0));
  OCTET_TRY(verify(g));
  return g;
}

} // namespace octet
