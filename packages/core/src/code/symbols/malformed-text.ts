/** `1 line of kallsyms is malformed` */
export function malformedText(lines: number, file: string): string {
  return lines === 1 ? `1 line of ${file} is malformed` : `${lines} lines of ${file} are malformed`;
}
