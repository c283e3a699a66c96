// SPDX-License-Identifier: Apache-2.0
// What fourier.h describes, for kLanes lines at once: number n of line l is at
// [2 n kLanes + l] (real part) and [(2 n + 1) kLanes + l]. No operation is fused, so that lanes and
// instruction sets change no bit. Included within a namespace, and a target region, of its own,
// which supplies Lane: kLanes doubles with + - *, or a double.

struct Number {
  Lane re, im;
};

inline Number load(const Lane* x, int64_t n) {
  return {x[2 * n], x[2 * n + 1]};
}

inline void store(const Number& v, Lane* x, int64_t n) {
  x[2 * n] = v.re;
  x[2 * n + 1] = v.im;
}

inline Number sum(const Number& a, const Number& b) {
  return {a.re + b.re, a.im + b.im};
}

inline Number difference(const Number& a, const Number& b) {
  return {a.re - b.re, a.im - b.im};
}

inline Number scaled(const Number& a, double by) {
  return {a.re * by, a.im * by};
}

/// -i a.
inline Number turned(const Number& a) {
  return {a.im, -a.re};
}

inline Number times(const Number& a, const double* root) {
  return {a.re * root[0] - a.im * root[1], a.re * root[1] + a.im * root[0]};
}

inline void butterfly(const Number (&a)[2], Number (&b)[2]) {
  b[0] = sum(a[0], a[1]);
  b[1] = difference(a[0], a[1]);
}

inline void butterfly(const Number (&a)[3], Number (&b)[3]) {
  constexpr double kSine = 0.86602540378443864676; // of 60 degrees
  const Number both = sum(a[1], a[2]);
  const Number middle = difference(a[0], scaled(both, 0.5));
  const Number side = turned(scaled(difference(a[1], a[2]), kSine));
  b[0] = sum(a[0], both);
  b[1] = sum(middle, side);
  b[2] = difference(middle, side);
}

inline void butterfly(const Number (&a)[4], Number (&b)[4]) {
  const Number even = sum(a[0], a[2]);
  const Number odd = sum(a[1], a[3]);
  const Number across = difference(a[0], a[2]);
  const Number side = turned(difference(a[1], a[3]));
  b[0] = sum(even, odd);
  b[1] = sum(across, side);
  b[2] = difference(even, odd);
  b[3] = difference(across, side);
}

inline void butterfly(const Number (&a)[5], Number (&b)[5]) {
  // Cosines and sines of 72 and 144 degrees.
  constexpr double kCosine1 = 0.30901699437494742410;
  constexpr double kCosine2 = -0.80901699437494742410;
  constexpr double kSine1 = 0.95105651629515357212;
  constexpr double kSine2 = 0.58778525229247312917;
  const Number outer = sum(a[1], a[4]);
  const Number inner = sum(a[2], a[3]);
  const Number outside = difference(a[1], a[4]);
  const Number inside = difference(a[2], a[3]);
  const Number first = sum(a[0], sum(scaled(outer, kCosine1), scaled(inner, kCosine2)));
  const Number second = sum(a[0], sum(scaled(outer, kCosine2), scaled(inner, kCosine1)));
  const Number turn1 = turned(sum(scaled(outside, kSine1), scaled(inside, kSine2)));
  const Number turn2 = turned(difference(scaled(outside, kSine2), scaled(inside, kSine1)));
  b[0] = sum(a[0], sum(outer, inner));
  b[1] = sum(first, turn1);
  b[2] = sum(second, turn2);
  b[3] = difference(second, turn2);
  b[4] = difference(first, turn1);
}

/// One pass of radix kRadix, behind passes whose radices have the product `done`.
template <int kRadix>
void pass(const FourierPasses& p, int64_t done, const Lane* x, Lane* y) {
  const int64_t groups = p.length / (done * kRadix);
  for (int64_t k = 0; k < groups; ++k)
    for (int64_t q = 0; q < done; ++q) {
      Number a[kRadix];
      Number b[kRadix];
      for (int64_t j = 0; j < kRadix; ++j)
        a[j] = load(x, q + done * (k + groups * j));
      butterfly(a, b);
      const int64_t to = q + done * kRadix * k;
      store(b[0], y, to);
      for (int64_t r = 1; r < kRadix; ++r)
        store(times(b[r], p.roots.data() + 2 * (r * k * done)), y, to + done * r);
    }
}

inline void
pass_of_prime(const FourierPasses& p, int64_t radix, int64_t done, const Lane* x, Lane* y) {
  const int64_t groups = p.length / (done * radix);
  const int64_t step = p.length / radix;
  const double* roots = p.roots.data();
  for (int64_t k = 0; k < groups; ++k)
    for (int64_t q = 0; q < done; ++q)
      for (int64_t r = 0; r < radix; ++r) {
        Number all = load(x, q + done * k);
        for (int64_t j = 1; j < radix; ++j)
          all = sum(
              all, times(load(x, q + done * (k + groups * j)), roots + 2 * (j * r % radix * step)));
        store(times(all, roots + 2 * (r * k * done)), y, q + done * (radix * k + r));
      }
}

/// The passes by turns from x to y and back. Where the result lies.
inline Lane* run_passes(const FourierPasses& p, Lane* x, Lane* y) {
  int64_t done = 1;
  for (const int64_t radix : p.factors) {
    switch (radix) {
    case 2:
      pass<2>(p, done, x, y);
      break;
    case 3:
      pass<3>(p, done, x, y);
      break;
    case 4:
      pass<4>(p, done, x, y);
      break;
    case 5:
      pass<5>(p, done, x, y);
      break;
    default:
      pass_of_prime(p, radix, done, x, y);
    }
    done *= radix;
    Lane* other = x;
    x = y;
    y = other;
  }
  return x;
}

/// x holds p.length numbers; both have room for p.size(). Where the result lies.
inline Lane* run_transform(const FourierPasses& p, Lane* x, Lane* y) {
  if (!p.convolution) return run_passes(p, x, y);
  const int64_t size = p.size();
  for (int64_t n = 0; n < p.length; ++n)
    store(times(load(x, n), p.chirp.data() + 2 * n), x, n);
  for (int64_t n = 2 * p.length; n < 2 * size; ++n)
    x[n] = Lane{};
  Lane* spectrum = run_passes(*p.convolution, x, y);
  // The inverse transform is the forward one of numbers whose parts are exchanged.
  for (int64_t n = 0; n < size; ++n) {
    const Number v = times(load(spectrum, n), p.response.data() + 2 * n);
    store({v.im, v.re}, spectrum, n);
  }
  Lane* out = run_passes(*p.convolution, spectrum, spectrum == x ? y : x);
  for (int64_t n = 0; n < p.length; ++n) {
    const Number v = load(out, n);
    store(times({v.im, v.re}, p.chirp.data() + 2 * n), out, n);
  }
  return out;
}

/// The spectrum of a real line, first length / 2 + 1 numbers, from that of its pairs, in place:
/// z[length / 2] is room for one more number.
inline void unfold(const Fourier& f, Lane* z) {
  const int64_t half = f.length / 2;
  store(load(z, 0), z, half);
  for (int64_t k = 0; 2 * k <= half; ++k) {
    const Number a = load(z, k);
    const Number b = load(z, half - k);
    const Number even = scaled({a.re + b.re, a.im - b.im}, 0.5);
    const Number odd = scaled({a.im + b.im, b.re - a.re}, 0.5);
    const Number turn = times(odd, f.roots.data() + 2 * k);
    store(sum(even, turn), z, k);
    // Number half - k: the conjugates, and a root mirrored at the imaginary axis.
    const Number back = difference(even, turn);
    if (k != half - k) store({back.re, -back.im}, z, half - k);
  }
}

/// Lines `first` to first + count - 1, count at most kLanes. `work` has room for
/// fourier.work() * kLanes doubles, aligned for a Lane.
template <typename T>
void transform_some(
    const Fourier& f, const FourierLines<T>& lines, int64_t first, int64_t count, double* work) {
  auto* x = static_cast<Lane*>(static_cast<void*>(work));
  Lane* y = x + 2 * f.passes.size() + 2;
  const bool to_real = f.kind == FourierKind::kInverseToReal;
  const bool inverse = f.kind != FourierKind::kForward;
  const FourierLayout& layout = lines.layout;
  const int64_t most = to_real ? f.length / 2 + 1 : f.length;
  const int64_t terms = layout.given < most ? layout.given : most;
  const int64_t parts = f.halved ? 1 : 2;
  if (count < kLanes || terms < f.length)
    for (int64_t n = 0; n < parts * f.length; ++n)
      x[n] = Lane{};
  for (int64_t lane = 0; lane < count; ++lane) {
    const T* from = lines.from(first + lane);
    double* to = work + lane;
    for (int64_t n = 0; n < terms; ++n) {
      const T* at = from + n * layout.x_step;
      const double weight = lines.window == nullptr ? 1.0 : static_cast<double>(lines.window[n]);
      const double re = static_cast<double>(at[0]) * weight;
      const double im = layout.real ? 0.0 : static_cast<double>(at[1]) * weight;
      if (f.halved) {
        to[n * kLanes] = re;
        continue;
      }
      to[2 * n * kLanes] = inverse ? im : re;
      to[(2 * n + 1) * kLanes] = inverse ? re : im;
    }
    if (!to_real) continue;
    // The mean, and of an even length the middle, are real; the second half mirrors the first.
    to[0] = 0.0;
    if (f.length % 2 == 0) to[f.length * kLanes] = 0.0;
    for (int64_t n = f.length / 2 + 1; n < f.length; ++n) {
      to[2 * n * kLanes] = -to[2 * (f.length - n) * kLanes];
      to[(2 * n + 1) * kLanes] = to[(2 * (f.length - n) + 1) * kLanes];
    }
  }
  Lane* result = run_transform(f.passes, x, y);
  if (f.halved) unfold(f, result);
  const auto scale = static_cast<double>(f.length);
  const int64_t stored = f.halved ? f.length / 2 + 1 : f.length;
  const auto* values = static_cast<const double*>(static_cast<const void*>(result));
  for (int64_t lane = 0; lane < count; ++lane) {
    T* to = lines.to(first + lane);
    for (int64_t k = 0; k < layout.count; ++k) {
      const bool mirrored = k >= stored;
      const double* at = values + 2 * (mirrored ? f.length - k : k) * kLanes + lane;
      const double re = at[0];
      const double im = mirrored ? -at[kLanes] : at[kLanes];
      T* out = to + k * layout.y_step;
      if (!inverse) {
        out[0] = static_cast<T>(re);
        out[1] = static_cast<T>(im);
        continue;
      }
      out[0] = static_cast<T>(im / scale);
      if (!to_real) out[1] = static_cast<T>(re / scale);
    }
  }
}
