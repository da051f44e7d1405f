import { FONT } from '../flame/geometry.ts';
import { DARK, LIGHT, MONO, SANS, type Scheme } from '../flame/style.ts';
import { workRules } from './work-colours.ts';

const SHAPE = [
  `text{font:${FONT}px ${SANS}}`,
  `.name{font-family:${MONO};pointer-events:none}`,
  '.title{font-size:18px;font-weight:600}.head{font-size:14px;font-weight:600}.number{font-size:10px}',
].join('');

function schemeRules({ page, ink, soft, line, field, accent, bad }: Scheme): string {
  return [
    `svg{background:${page}}.page{fill:${page}}text{fill:${ink}}.legend,.number{fill:${soft}}`,
    `.field{fill:${field}}.busy{fill:${accent};fill-opacity:.75}.mark{fill:${bad}}`,
    `.tick{stroke:${line};fill:none}.edge{stroke:${line}}`,
  ].join('');
}

/** Light, and dark where the viewer asks for it. */
export function loopStyle(): string {
  const dark = `${schemeRules(DARK)}${workRules('dark')}`;
  return `${SHAPE}${schemeRules(LIGHT)}${workRules('light')}@media (prefers-color-scheme:dark){${dark}}`;
}
