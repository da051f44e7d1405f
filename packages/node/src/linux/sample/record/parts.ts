/** What is left of `parts` after their first `written` bytes have gone. */
export function partsAfter(parts: readonly Uint8Array[], written: number): readonly Uint8Array[] {
  let skip = written;
  let at = 0;
  while (at < parts.length && skip >= parts[at]!.length) skip -= parts[at++]!.length;
  const rest = parts.slice(at);
  return rest.length > 0 && skip > 0 ? [rest[0]!.subarray(skip), ...rest.slice(1)] : rest;
}
