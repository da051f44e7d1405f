/** Control characters: in names they come from a hostile program, and a terminal would obey them. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g;

/** A name as text that is safe to print: control characters as `\x1b`. */
export function printable(text: string): string {
  if (!CONTROL.test(text)) return text;
  return text.replace(CONTROLS, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
