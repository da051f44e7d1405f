/**
 * The members that are there: those that are undefined are left out, so that a default is not overwritten.
 */
export function optional<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}
