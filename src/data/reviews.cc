// SPDX-License-Identifier: Apache-2.0
// A grammar of film reviews. A film is drawn first (title, genre, people, place), so that sentences
// of one review belong together. Then most of its opinions get the polarity of the label, some the
// other one. An opinion is plain, negated, or one of two in contrast, where only the construction
// tells which of them counts. In the templates: %T title, %G genre, %D director, %L and %S players,
// %C character, %J job, %P place, %a what is judged, %v how much, %+ and %- an adjective of the
// sentence's polarity and of the other one, %1 and %2 a clause of these polarities.
#include "data/reviews.h"

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/format.h"
#include "core/philox.h"
#include "core/string_util.h"

namespace octet {
namespace {

constexpr int64_t kTrainReviews = 20000;
constexpr int64_t kTestReviews = 4000;
constexpr int64_t kMostSentences = 14;
constexpr uint64_t kReviewSeed = 0x66'696c'6d73; // any constant: the reviews never change

using Words = std::span<const std::string_view>;

constexpr std::string_view kGood[] = {
    "good",      "great",     "superb",     "charming", "moving",   "gripping",  "clever",
    "beautiful", "sincere",   "fresh",      "warm",     "sharp",    "brilliant", "delightful",
    "memorable", "thrilling", "convincing", "tender",   "elegant",  "lively",    "inventive",
    "touching",  "rewarding", "excellent",  "subtle",   "powerful", "original",  "wonderful"};
constexpr std::string_view kBad[] = {
    "bad",         "awful",       "dull",      "clumsy",   "flat",   "lifeless", "tedious",
    "shallow",     "silly",       "tired",     "cheap",    "wooden", "annoying", "muddled",
    "forgettable", "predictable", "stale",     "hollow",   "dreary", "painful",  "ugly",
    "lazy",        "confusing",   "pointless", "terrible", "boring", "clichéd",  "ridiculous"};
constexpr std::string_view kAspects[] = {
    "acting",   "plot",     "script",  "dialogue", "camera work", "music",     "ending",
    "pacing",   "opening",  "editing", "humour",   "atmosphere",  "casting",   "love story",
    "lighting", "last act", "twist",   "sound",    "chemistry",   "soundtrack"};
constexpr std::string_view kDegrees[] = {"",        "",        "",        "truly ", "quite ",
                                         "simply ", "really ", "always ", "very "};
constexpr std::string_view kGenres[] = {"thriller",   "comedy",      "drama",    "western",
                                        "romance",    "horror film", "war film", "musical",
                                        "crime film", "documentary", "fantasy",  "road movie"};
constexpr std::string_view kFirst[] = {
    "Anna",  "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Henry", "Irene", "Jonas",
    "Karen", "Louis", "Maria", "Niels", "Olga",  "Peter", "Rosa",  "Simon", "Tessa", "Viktor"};
constexpr std::string_view kLast[] = {
    "Abbott", "Bergman", "Castle", "Dorsey", "Ekberg", "Fischer", "Garland", "Hansen",
    "Ibarra", "Jensen",  "Keller", "Lindt",  "Moreau", "Novak",   "Ortega",  "Palmer",
    "Quinn",  "Rossi",   "Sander", "Thorne", "Ullman", "Varga",   "Weaver",  "Yates",
    "Zeller", "Ashby",   "Brandt", "Corwin", "Duval",  "Everett", "Falk",    "Grant"};
constexpr std::string_view kTitleFirst[] = {"Silent",  "Broken",  "Golden",  "Hidden", "Last",
                                            "Crimson", "Distant", "Frozen",  "Lonely", "Midnight",
                                            "Paper",   "Second",  "Stolen",  "Winter", "Wild",
                                            "Velvet",  "Empty",   "Burning", "Secret", "Northern"};
constexpr std::string_view kTitleSecond[] = {"Harbour", "Letters", "Garden",  "Mirror",  "Promise",
                                             "River",   "Station", "Summer",  "Voices",  "Window",
                                             "Bridge",  "Circus",  "Doctor",  "Empire",  "Fortune",
                                             "Highway", "Island",  "Journey", "Kingdom", "Lantern"};
constexpr std::string_view kPlaces[] = {"Lisbon",  "Chicago", "Oslo",   "Naples",    "Vienna",
                                        "Dublin",  "Kyoto",   "Boston", "Prague",    "Havana",
                                        "Bergen",  "Sydney",  "Berlin", "Cairo",     "Madrid",
                                        "Toronto", "Lima",    "Seoul",  "Marseille", "Tangier"};
constexpr std::string_view kJobs[] = {"detective", "teacher", "pianist", "sailor",     "nurse",
                                      "lawyer",    "painter", "farmer",  "soldier",    "thief",
                                      "reporter",  "surgeon", "cook",    "engineer",   "boxer",
                                      "librarian", "pilot",   "gambler", "translator", "widow"};

constexpr std::string_view kIntroductions[] = {
    "%T is a %G by %D, set in %P.",
    "I saw %T, the new %G by %D, last night.",
    "%D made %T, a %G with %L and %S, in %P.",
    "In %T, a %G by %D, %L plays a %J called %C.",
};
constexpr std::string_view kNeutral[] = {
    "%L plays %C, a %J from %P.",
    "The %G follows %C, a %J who comes back to %P.",
    "%C, the %J, meets a stranger who is played by %S.",
    "Half of %T was shot in %P.",
    "%S plays the sister of %C.",
    "In the second half %C has to leave %P.",
    "%D wrote the part of the %J for %L.",
    "%L and %S have worked with %D before.",
    "The last scene shows %C alone in %P.",
};
constexpr std::string_view kPlainClauses[] = {
    "the %a is %v%+",        "the %a of %T is %v%+",
    "I found the %a %v%+",   "%L gives a %v%+ performance",
    "%S is %v%+ in this %G", "%D's direction is %v%+",
    "%L as %C is %v%+",
};
constexpr std::string_view kNegatedClauses[] = {
    "the %a is not %-",
    "the %a is never %-",
    "the %a is anything but %-",
    "there is nothing %- about the %a",
    "nobody could call the %a %-",
    "%L is never %- as %C",
    "%D's direction is not %- at all",
};
constexpr std::string_view kContrasts[] = {
    "%2, but %1.",
    "%2, but %1.",
    "Although %2, %1.",
    "%1, even if %2.",
    "Unlike the last film by %D, which was %-, %T is %+.",
    "I expected something %-, yet %T turned out to be %+.",
    "%T could have been a %- %G, and instead it is %+.",
};
constexpr std::string_view kVerdicts[2][5] = {
    {"All in all %T is a %+ %G.", "I would not want to see %T again.",
     "You should miss %T and see something else.", "I cannot say anything nice about %L and %S.",
     "%T is not worth your time."},
    {"All in all %T is a %+ %G.", "I would like to see %T again.",
     "You should not miss %T or see something else.", "I cannot say enough about %L and %S.",
     "%T is worth all your time."}};

std::string_view pick(Words words, Philox& random) {
  return words[static_cast<size_t>(random.below(static_cast<int64_t>(words.size())))];
}

struct Film {
  std::string title, director, lead, second, character;
  std::string_view genre, place, job;
};

std::string person(Philox& random) {
  const std::string_view first = pick(kFirst, random);
  return fmt::format("{} {}", first, pick(kLast, random));
}

Film draw_film(Philox& random) {
  Film film;
  const std::string_view first = pick(kTitleFirst, random);
  film.title = fmt::format("{} {}", first, pick(kTitleSecond, random));
  film.director = person(random);
  film.lead = person(random);
  film.second = person(random);
  film.character = pick(kFirst, random);
  film.genre = pick(kGenres, random);
  film.place = pick(kPlaces, random);
  film.job = pick(kJobs, random);
  return film;
}

class ReviewWriter {
 public:
  explicit ReviewWriter(Philox& random) : random_(random), film_(draw_film(random)) {}

  std::string introduction() { return sentence(pick(kIntroductions, random_), true); }
  std::string neutral() { return sentence(pick(kNeutral, random_), true); }
  std::string verdict(bool good) { return sentence(pick(kVerdicts[good ? 1 : 0], random_), good); }
  std::string opinion(bool good) {
    constexpr double kPlainShare = 0.6;
    if (random_.uniform() >= kPlainShare) return sentence(pick(kContrasts, random_), good);
    const bool loud = random_.below(8) == 0;
    return sentence(loud ? "%1!" : "%1.", good);
  }

 private:
  std::string clause(bool good) {
    constexpr double kNegatedShare = 0.25;
    const bool negated = random_.uniform() < kNegatedShare;
    return fill(negated ? pick(kNegatedClauses, random_) : pick(kPlainClauses, random_), good);
  }

  std::string part(char code, bool good) {
    switch (code) {
    case 'T':
      return film_.title;
    case 'D':
      return film_.director;
    case 'L':
      return film_.lead;
    case 'S':
      return film_.second;
    case 'C':
      return film_.character;
    case 'G':
      return std::string(film_.genre);
    case 'P':
      return std::string(film_.place);
    case 'J':
      return std::string(film_.job);
    case 'a':
      return std::string(pick(kAspects, random_));
    case 'v':
      return std::string(pick(kDegrees, random_));
    case '+':
      return std::string(good ? pick(kGood, random_) : pick(kBad, random_));
    case '-':
      return std::string(good ? pick(kBad, random_) : pick(kGood, random_));
    case '1':
      return clause(good);
    default:
      return clause(!good);
    }
  }

  std::string fill(std::string_view pattern, bool good) {
    std::string out;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '%') {
        out += pattern[i];
        continue;
      }
      const std::string word = part(pattern[++i], good);
      constexpr std::string_view kVowels = "aeiou";
      const bool article = out.size() >= 3 && out.compare(out.size() - 3, 3, " a ") == 0;
      if (article && !word.empty() && kVowels.find(word[0]) != std::string_view::npos)
        out.insert(out.size() - 1, "n");
      out += word;
    }
    return out;
  }

  std::string sentence(std::string_view pattern, bool good) {
    std::string out = fill(pattern, good);
    if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
    return out;
  }

  Philox& random_;
  Film film_;
};

/// The last `last` sentences of review `index`, 0: all.
TextExample write_review(int64_t index, size_t last) {
  Philox random(kReviewSeed, static_cast<uint64_t>(index));
  const bool good = random.below(2) == 1;
  ReviewWriter writer(random);
  const int64_t opinions = 3 + random.below(4);
  int64_t contrary = (opinions - 1) / 2; // so many opinions may have the other polarity
  std::vector<std::string> sentences = {writer.introduction()};
  for (int64_t i = 0; i < opinions; ++i) {
    if (random.below(3) == 0) sentences.push_back(writer.neutral());
    const bool other = contrary > 0 && random.below(5) == 0;
    if (other) --contrary;
    sentences.push_back(writer.opinion(other ? !good : good));
  }
  if (random.below(2) == 0) sentences.push_back(writer.verdict(good));
  if (last > 0 && last < sentences.size())
    sentences.erase(sentences.begin(), sentences.end() - static_cast<std::ptrdiff_t>(last));
  return {join(sentences, " "), "", good ? 1 : 0};
}

class Reviews final : public TextSource {
 public:
  Reviews(Split split, Labels labels, int64_t last) : split_(split), last_(last) {
    if (labels == Labels::kYes) classes_ = {"negative", "positive"};
  }
  std::string description() const override {
    return fmt::format("generated film reviews, {} {} reviews{}", size(),
                       split_ == Split::kTrain ? "training" : "test",
                       last_ > 0 ? fmt::format(", the last {} sentences of each", last_) : "");
  }
  int64_t size() const override { return split_ == Split::kTrain ? kTrainReviews : kTestReviews; }
  bool pairs() const override { return false; }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<TextExample> example(int64_t index) const override {
    if (index < 0 || index >= size())
      return error("example {} is asked for, {} has {}; ask for 0 to {}", index, description(),
                   size(), size() - 1);
    TextExample out = write_review(split_ == Split::kTrain ? index : kTrainReviews + index,
                                   static_cast<size_t>(last_));
    if (classes_.empty()) out.label = -1;
    return out;
  }

 private:
  Split split_;
  int64_t last_;
  std::vector<std::string> classes_;
};

} // namespace

Result<std::shared_ptr<const TextSource>> open_reviews(Split split, Labels labels, int64_t last) {
  if (last < 0 || last > kMostSentences)
    return error("reviews of {} sentences are asked for; ask for 1 to {}, or 0 for all", last,
                 kMostSentences);
  return std::shared_ptr<const TextSource>(std::make_shared<Reviews>(split, labels, last));
}

} // namespace octet
