// What rows add to the label sum: label_term of core/label_term.h, Philox4x32-10. Behind common.cl.
#pragma OPENCL FP_CONTRACT OFF

// Philox4x32-10: core/random.h.
uint4 philox(uint2 key, uint4 counter) {
  for (int round = 0; round < 10; ++round) {
    const uint high0 = mul_hi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
    const uint high2 = mul_hi(0xCD9E8D57u, counter.z), low2 = 0xCD9E8D57u * counter.z;
    counter = (uint4)(high2 ^ counter.y ^ key.x, low2, high0 ^ counter.w ^ key.y, low0);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

// The label term of a row: core/label_term.h, with kLabelSumKey and Purpose::kLabelSum.
uint4 label_term(ulong row, uint label) {
  return philox((uint2)(0x6d65616eu, 0x6d616e79u), (uint4)((uint)row, (uint)(row >> 32), label, 6));
}

// Its halves.
void label_term_halves(ulong row, uint label, ulong* low, ulong* high) {
  const uint4 term = label_term(row, label);
  *low = (ulong)term.x | (ulong)term.y << 32;
  *high = (ulong)term.z | (ulong)term.w << 32;
}

#if GROUP_ITEMS == 1
#define LOW_WORD 0xffffffffUL

// The four words of eight rows' terms. A work-item that is alone has vectors for that: words stand in lanes of 64 bits,
// so that products are whole lanes, and what is above the words harms nothing before the end.
void label_words(ulong8 row, ulong8 label, ulong8* words) {
  ulong8 c0 = row;
  ulong8 c1 = row >> 32;
  ulong8 c2 = label;
  ulong8 c3 = (ulong8)(6);
  uint k0 = 0x6d65616eU;
  uint k1 = 0x6d616e79U;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const ulong8 a = (c0 & LOW_WORD) * 0xD2511F53UL;
    const ulong8 b = (c2 & LOW_WORD) * 0xCD9E8D57UL;
    c0 = b >> 32 ^ c1 ^ (ulong)k0;
    c1 = b;
    c2 = a >> 32 ^ c3 ^ (ulong)k1;
    c3 = a;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  words[0] = c0 & LOW_WORD;
  words[1] = c1 & LOW_WORD;
  words[2] = c2 & LOW_WORD;
  words[3] = c3 & LOW_WORD;
}

ulong sum_of_words(ulong8 v) {
  const ulong4 four = v.lo + v.hi;
  const ulong2 two = four.lo + four.hi;
  return two.x + two.y;
}
#endif
