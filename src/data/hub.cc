// SPDX-License-Identifier: Apache-2.0
#include "data/hub.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/fetch.h"
#include "data/http.h"
#include <nlohmann/json.hpp>

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostHubAnswer = size_t{16} << 20;
constexpr int64_t kMostHubFile = int64_t{1} << 37;
constexpr const char* kWholeModel = ".complete"; ///< a file that says that all others are there
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kWeightIndex = "model.safetensors.index.json";

/// What is taken where the model has it.
constexpr const char* kHubFiles[] = {"config.json", "vocab.txt", "tokenizer.json",
                                     "tokenizer_config.json", "special_tokens_map.json"};

/// Letters and the like as they are, the rest as %XX.
std::string url_part(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~";
  std::string out;
  for (const char c : text)
    out += kPlain.find(c) != kPlain.npos
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return out;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(trim(value));
}

/// The file that Hugging Face's own tools keep a token in; empty: nowhere.
fs::path token_file() {
  if (const std::string path = environment("HF_TOKEN_PATH"); !path.empty()) return path;
  if (const std::string home = environment("HF_HOME"); !home.empty())
    return fs::path(home) / "token";
  const std::string cache = environment("XDG_CACHE_HOME"), user = environment("HOME");
  if (!cache.empty()) return fs::path(cache) / "huggingface" / "token";
  return user.empty() ? fs::path() : fs::path(user) / ".cache" / "huggingface" / "token";
}

bool is_this_machine(std::string_view origin) {
  for (const char* host : {"http://127.0.0.1:", "http://localhost:", "http://[::1]:"})
    if (origin.starts_with(host)) return true;
  return false;
}

std::string string_of(const nlohmann::json& in, const char* key) {
  const auto at = in.is_object() ? in.find(key) : in.end();
  return at != in.end() && at->is_string() ? at->get<std::string>() : std::string();
}

HubFile file_of(const nlohmann::json& entry) {
  HubFile file;
  file.name = string_of(entry, "rfilename");
  if (!entry.is_object()) return file;
  if (const auto size = entry.find("size"); size != entry.end() && size->is_number_integer())
    file.size = size->get<int64_t>();
  if (const std::string id = string_of(entry, "blobId"); is_hex(id, 40)) file.git_id = id;
  if (const auto lfs = entry.find("lfs"); lfs != entry.end())
    if (const std::string id = string_of(*lfs, "sha256"); is_hex(id, 64)) file.sha256 = id;
  return file;
}

class HubFetch {
 public:
  HubFetch(const HubModel& model, const HubAccess& access, const Callbacks& callbacks)
      : model_(model), access_(access), callbacks_(callbacks) {
    if (!access.token.empty()) headers_ = {"Authorization: Bearer " + access.token};
  }

  Result<FetchedModel> run() {
    if (is_hex(model_.revision, 40)) {
      const FetchedModel known = OCTET_TRY(place(model_.revision));
      std::error_code ignored;
      if (fs::exists(fs::path(known.folder) / kWholeModel, ignored)) return known;
    }
    OCTET_TRY(list());
    const FetchedModel out = OCTET_TRY(place(commit_));
    std::error_code failed;
    if (fs::exists(fs::path(out.folder) / kWholeModel, failed)) return out;
    if (find("config.json") == nullptr)
      return error("{}: has no config.json; it is no model of transformers", title());
    for (const char* name : kHubFiles)
      if (const HubFile* file = find(name)) OCTET_TRY(download(*file, out.folder));
    OCTET_TRY(download_weights(out.folder));
    OCTET_TRY(write_file((fs::path(out.folder) / kWholeModel).string(), out.source + "\n",
                         Overwrite::kYes));
    return out;
  }

 private:
  std::string title() const { return model_.name + "@" + model_.revision; }

  Result<FetchedModel> place(const std::string& commit) const {
    std::string name = model_.name;
    if (const size_t slash = name.find('/'); slash != name.npos) name.replace(slash, 1, "--");
    const fs::path folder = fs::path(OCTET_TRY(cache_folder("models", name))) / commit;
    return FetchedModel{folder.string(), fmt::format("hf:{}@{}", model_.name, commit)};
  }

  /// What the hub's answer to a failed request means.
  Error refused(const HttpReply& reply, const Error& failure) const {
    if (failure.code() == ErrorCode::kCancelled) return failure;
    if (reply.status == 401 || reply.status == 403)
      return error(
          "{}: {} wants to know who asks ({}); {}", title(), access_.endpoint, reply.status,
          access_.token.empty()
              ? "there is no such model, or its license is accepted on its page and a token "
                "is given in HF_TOKEN"
              : "the token has no right to it, or its license is not accepted yet");
    if (reply.status == 404)
      return error(ErrorCode::kNotFound,
                   "{}: {} has no such model or revision; write owner/name, and @branch, @tag or "
                   "@commit where it is another than main",
                   title(), access_.endpoint);
    return error("{}: {}; check the network, or HF_ENDPOINT for a mirror", title(), failure.text());
  }

  /// The commit behind the revision, and its files with their checksums.
  Status list() {
    std::string text;
    HttpReply reply;
    HttpRequest request;
    request.url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", access_.endpoint,
                              model_.name, url_part(model_.revision));
    request.headers = headers_;
    request.reply = &reply;
    request.cancelled = [this] { return callbacks_.cancelled(); };
    request.on_data = [&](std::span<const std::byte> bytes) -> Status {
      if (text.size() + bytes.size() > kMostHubAnswer)
        return error("{}: answers with more than {} bytes", request.url, kMostHubAnswer);
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return ok_status();
    };
    if (const auto got = http_get(request); !got.ok()) return refused(reply, got.error());
    HubList list = OCTET_TRY_WITH(parse_hub_list(text), request.url);
    commit_ = std::move(list.commit);
    files_ = std::move(list.files);
    return ok_status();
  }

  const HubFile* find(std::string_view name) const {
    const auto at = std::find_if(files_.begin(), files_.end(),
                                 [&](const HubFile& file) { return file.name == name; });
    return at == files_.end() ? nullptr : &*at;
  }

  std::string base() const {
    return fmt::format("{}/{}/resolve/{}/", access_.endpoint, model_.name, commit_);
  }

  /// What a hub says in the fields of its answer where its list does not: the id of large files is
  /// their SHA-256, of others git's.
  Result<HubFile> asked_for(const HubFile& listed) const {
    HubFile file = listed;
    HttpReply reply;
    HttpRequest request;
    request.url = base() + file.name;
    request.headers = headers_;
    request.head = true;
    request.reply = &reply;
    request.cancelled = [this] { return callbacks_.cancelled(); };
    request.on_data = [](std::span<const std::byte>) { return ok_status(); };
    if (const auto got = http_get(request); !got.ok()) return refused(reply, got.error());
    const auto field = [&](const char* first, const char* second) {
      const std::string& linked = reply.fields[first];
      std::string value = linked.empty() ? reply.fields[second] : linked;
      if (value.starts_with("W/")) value.erase(0, 2);
      std::erase(value, '"');
      return value;
    };
    const std::string id = lowered(field("x-linked-etag", "etag"));
    file.size = whole_number(field("x-linked-size", "content-length"));
    if (is_hex(id, 64)) file.sha256 = id;
    if (is_hex(id, 40)) file.git_id = id;
    return file;
  }

  Status download(const HubFile& listed, const std::string& folder) const {
    HubFile file = listed;
    if (file.size < 0 || (file.sha256.empty() && file.git_id.empty()))
      file = OCTET_TRY(asked_for(listed));
    if (file.size < 0 || file.size > kMostHubFile || (file.sha256.empty() && file.git_id.empty()))
      return error("{}: {} says neither size nor checksum of {}", title(), access_.endpoint,
                   file.name);
    // What git says of a large file is of the pointer to it.
    if (!file.sha256.empty()) file.git_id.clear();
    RemoteDataset one;
    one.name = title();
    one.files = {{file.name, file.size, file.sha256, file.git_id}};
    one.mirrors = {base()};
    one.headers = headers_;
    return fetch_dataset(one, folder, callbacks_).with(title());
  }

  Status download_weights(const std::string& folder) const {
    if (const HubFile* whole = find(kWeights)) return download(*whole, folder);
    const HubFile* index = find(kWeightIndex);
    if (index == nullptr)
      return error(
          "{}: has no {}{}", title(), kWeights,
          find("pytorch_model.bin") == nullptr
              ? "; name a model that does"
              : ", but pytorch_model.bin, which can run code when it is read; name a model "
                "or a revision (such as @refs/pr/1) that has it");
    OCTET_TRY(download(*index, folder));
    const std::string path = (fs::path(folder) / kWeightIndex).string();
    const std::set<std::string> parts =
        OCTET_TRY_WITH(parse_weight_index(OCTET_TRY(read_file(path, kMostHubAnswer))), path);
    for (const std::string& part : parts) {
      const HubFile* listed = find(part);
      if (listed == nullptr)
        return error("{}: names the part \"{}\", which the model does not have", path, part);
      OCTET_TRY(download(*listed, folder));
    }
    return ok_status();
  }

  const HubModel& model_;
  const HubAccess& access_;
  const Callbacks& callbacks_;
  std::vector<std::string> headers_;
  std::string commit_;
  std::vector<HubFile> files_;
};

} // namespace

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_hub_word(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.size() <= 96 && text.find_first_not_of(kAllowed) == text.npos &&
         text.front() != '.' && text.front() != '-' && !text.ends_with(".onnx");
}

Result<HubList> parse_hub_list(std::string_view text) {
  const nlohmann::json json = OCTET_TRY(parse_json(text));
  HubList out;
  out.commit = string_of(json, "sha");
  if (!is_hex(out.commit, 40)) return error("names no commit, but \"{}\"", out.commit);
  const auto files = json.find("siblings");
  if (files == json.end() || !files->is_array()) return Error("lists no files");
  for (const nlohmann::json& entry : *files)
    out.files.push_back(file_of(entry));
  return out;
}

Result<std::set<std::string>> parse_weight_index(std::string_view text) {
  const nlohmann::json json = OCTET_TRY(parse_json(text));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) return Error("has no object \"weight_map\"");
  std::set<std::string> out;
  for (const auto& [name, part] : map->items()) {
    if (!part.is_string()) continue;
    const auto& file = part.get_ref<const std::string&>();
    if (!is_hub_word(file)) return error("names the part \"{}\", which is no file's name", file);
    out.insert(file);
  }
  return out;
}

std::optional<HubModel> parse_hub_model(std::string_view text) {
  HubModel out;
  const size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  if (at != text.npos) out.revision = text.substr(at + 1);
  const std::vector<std::string_view> words = split(name, '/');
  if (words.size() > 2 || !std::all_of(words.begin(), words.end(), is_hub_word))
    return std::nullopt;
  for (const std::string_view part : split(out.revision, '/'))
    if (!is_hub_word(part) || part == "..") return std::nullopt;
  out.name = name;
  return out;
}

Result<HubAccess> hub_access() {
  HubAccess out;
  if (const std::string endpoint = environment("HF_ENDPOINT"); !endpoint.empty()) {
    out.endpoint = endpoint.substr(0, endpoint.find_last_not_of('/') + 1);
    const std::string origin = origin_of(out.endpoint);
    if (!origin.starts_with("https://") && !origin.starts_with("http://"))
      return error("HF_ENDPOINT is \"{}\"; it is an address such as https://huggingface.co",
                   endpoint);
  }
  out.token = environment("HF_TOKEN");
  std::error_code ignored;
  if (const fs::path path = token_file(); out.token.empty() && fs::is_regular_file(path, ignored)) {
    constexpr size_t kMostToken = 4096;
    out.token = trim(OCTET_TRY(read_file(path.string(), kMostToken)));
  }
  const bool plain =
      std::all_of(out.token.begin(), out.token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain) return Error("HF_TOKEN, or the file with the token, holds what no token has");
  const std::string origin = origin_of(out.endpoint);
  if (!out.token.empty() && !origin.starts_with("https://") && !is_this_machine(origin)) {
    out.token.clear();
    out.notice = out.endpoint + " is no https, so the token is not sent to it";
  }
  return out;
}

Result<FetchedModel>
fetch_hub_model(const HubModel& model, const HubAccess& access, const Callbacks& callbacks) {
  return HubFetch(model, access, callbacks).run();
}

} // namespace octet
