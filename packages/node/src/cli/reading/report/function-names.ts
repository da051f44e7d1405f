/** Names of C++ functions hold commas: `f<a,b>` is one name, so only commas outside brackets part names. */
export function splitNames(text: string): string[] {
  const names = [''];
  let depth = 0;
  for (const char of text) {
    if ('<([{'.includes(char)) depth++;
    else if ('>)]}'.includes(char)) depth = Math.max(0, depth - 1);
    if (char === ',' && depth === 0) names.push('');
    else names[names.length - 1] += char;
  }
  return names.filter((name) => name !== '');
}
