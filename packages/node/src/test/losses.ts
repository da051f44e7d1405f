/**
 * Losses without call chains that the kernel cut: chance makes them. Without frame pointers a chain may go on
 * through what looks like one, to the kernel's limit of frames. A chain of records that a test made itself
 * is not cut by chance: it does not want this.
 */
export function besideCuts<Loss extends { readonly kind: string }>(losses: readonly Loss[]): Loss[] {
  return losses.filter(({ kind }) => kind !== 'call-chain-cut');
}
