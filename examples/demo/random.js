/** Numbers that look random and are the same in every run (xorshift, 32 bits). */
export function makeRandom(seed) {
  let state = seed >>> 0 || 1;
  return function random(limit) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

/** A short name for a lot of data, to show that every run did the same. */
export function checksum(text) {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return (sum >>> 0).toString(16).padStart(8, '0');
}
