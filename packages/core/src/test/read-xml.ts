/**
 * Checks that a text is well-formed XML, as far as our own writer goes: elements nest, attributes are
 * quoted and unique, references are known, characters are allowed, CDATA ends. Returns the text
 * content of each element with an id.
 */
export function readXml(text: string): Map<string, string> {
  const forbidden = /[^\u0009\u000a\u000d\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(text);
  if (forbidden !== null) throw new Error(`forbidden character at ${forbidden.index}`);
  const token =
    /<!\[CDATA\[([\s\S]*?)\]\]>|<\?[\s\S]*?\?>|<(\/?)([\w:-]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/y;
  const byId = new Map<string, string>();
  const open: { name: string; id: string | undefined; text: string }[] = [];
  let roots = 0;
  while (token.lastIndex < text.length) {
    const at = token.lastIndex;
    const match = token.exec(text);
    if (match === null) throw new Error(`not XML at ${at}: ${text.slice(at, at + 80)}`);
    const [, cdata, close, name, attributes = '', empty, words] = match;
    for (const [reference] of (words ?? attributes).matchAll(/&[^;]{0,8};?/g)) {
      if (!/^&(amp|lt|gt|quot);$/.test(reference)) throw new Error(`reference ${reference} near ${at}`);
    }
    if (words?.includes(']]>')) throw new Error(`]]> in text at ${at}`);
    for (const element of open) element.text += cdata ?? words ?? '';
    if (name === undefined) {
      if (open.length === 0 && (cdata ?? words ?? '').trim() !== '') throw new Error(`text outside at ${at}`);
      continue;
    }
    if (close === '/') {
      const element = open.pop();
      if (element?.name !== name) throw new Error(`</${name}> closes ${element?.name} at ${at}`);
      if (element.id !== undefined) byId.set(element.id, element.text);
      continue;
    }
    const names = [...attributes.matchAll(/([\w:-]+)="/g)].map((found) => found[1]);
    if (new Set(names).size !== names.length) throw new Error(`an attribute twice at ${at}`);
    if (open.length === 0 && ++roots > 1) throw new Error(`a second root at ${at}`);
    if (empty !== '/') open.push({ name, id: /\sid="([^"]*)"/.exec(attributes)?.[1], text: '' });
  }
  if (open.length > 0) throw new Error(`<${open.at(-1)!.name}> is not closed`);
  return byId;
}
