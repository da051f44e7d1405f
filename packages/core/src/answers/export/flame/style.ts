import { FONT } from './geometry.ts';
import { fillRules } from './palette.ts';

export const MONO =
  'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace';
export const SANS =
  'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","DejaVu Sans",sans-serif';

export interface Scheme {
  page: string;
  ink: string;
  soft: string;
  line: string;
  field: string;
  pressed: string;
  accent: string;
  good: string;
  bad: string;
  hit: string;
  outer: string;
  tip: string;
  mark: string;
}

export const LIGHT: Scheme = {
  page: '#ffffff',
  ink: '#1c1d22',
  soft: '#5d616b',
  line: '#dcdee3',
  field: '#f4f5f7',
  pressed: '#e4e7ec',
  accent: '#2f62d6',
  good: '#2e9d5b',
  bad: '#d9730d',
  hit: '#e79cf5',
  outer: '#eceef1',
  tip: '#ffffff',
  mark: '#1c1d22',
};

export const DARK: Scheme = {
  page: '#16171b',
  ink: '#f0f1f4',
  soft: '#a0a5b1',
  line: '#33363e',
  field: '#212329',
  pressed: '#353943',
  accent: '#7ea6ff',
  good: '#4cc47f',
  bad: '#f0a04b',
  hit: '#9a2fb5',
  outer: '#24262c',
  tip: '#24262d',
  mark: '#ffffff',
};

/** Plain rules without custom properties, which renderers of still pictures often lack. */
function schemeRules(scheme: Scheme, fills: string): string {
  const { page, ink, soft, line, field, pressed, accent, good, bad, hit, outer, tip, mark } = scheme;
  return [
    `svg{background:${page}}.page{fill:${page}}`,
    `text{fill:${ink}}.command,.facts,.legend{fill:${soft}}.names .dim{fill:${ink};fill-opacity:.62}`,
    `.good{fill:${good};background:${good}}.bad{fill:${bad};background:${bad}}`,
    `.outer{fill:${outer}}.narrow{fill:${soft};fill-opacity:.4}.hit{fill:${hit}}.hover{stroke:${mark}}.selected{stroke:${accent}}`,
    `.thumb{fill:${soft}}`,
    `.bar,.foot{background:${page};color:${ink}}.bar{border-color:${line}}.foot{border-color:${line};color:${soft}}`,
    `.bar .line{color:${soft}}.search,.pair,.tools>button{background:${field};border-color:${line}}`,
    `.search:focus-within{border-color:${accent};box-shadow:0 0 0 1px ${accent}}`,
    `button:focus-visible{outline:2px solid ${accent}}`,
    `button[aria-pressed=true]{background:${pressed}}button:hover:enabled{background:${pressed}}`,
    `input[aria-invalid=true]{color:${bad}}.crumbs button,.found{color:${soft}}`,
    `.crumbs button[aria-current]{color:${ink}}kbd{background:${field};border-color:${line};color:${ink}}`,
    `.tip{background:${tip};color:${ink};border-color:${line}}.tippath,.tipkind,.tiptable span{color:${soft}}`,
    fills,
  ].join('');
}

const SHAPE = [
  `text{font:${FONT}px ${SANS}}`,
  `.names text,.command{font-family:${MONO}}.names{pointer-events:none}.names .soft{opacity:.55}`,
  '.title{font-size:18px;font-weight:600}',
  '.live{position:fixed;cursor:default;user-select:none;-webkit-user-select:none;touch-action:pan-x}',
  '.faded path:not(.hit){opacity:.38}',
  '.marks rect{fill:none;stroke-width:1.5;pointer-events:none}.thumb{opacity:.45}.thumb:hover{opacity:.8}',
  `.bar,.foot,.tip{font:12px/1.45 ${SANS};box-sizing:border-box}`,
  '.bar{padding:12px 16px 6px;border-bottom:1px solid}',
  '.head{display:flex;gap:8px 24px;flex-wrap:wrap;align-items:flex-start;justify-content:space-between}',
  '.words{flex:1 1 380px;min-width:0}.words>div{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.words>.loss{white-space:normal}',
  `.bar .title{line-height:1.3}.bar .command{font-family:${MONO}}`,
  '.line i{display:inline-block;width:8px;height:8px;border-radius:50%;margin-right:7px}',
  '.tools{display:flex;flex-wrap:wrap;gap:8px;align-items:center;justify-content:flex-end}',
  '.search,.pair,.tools>button{border:1px solid;border-radius:7px;overflow:hidden;display:flex}',
  'input,button{font:inherit;color:inherit;background:none;border:0;margin:0;outline:0}',
  `input{width:250px;padding:5px 9px;font-family:${MONO};user-select:text;-webkit-user-select:text}`,
  'input::placeholder{color:inherit;opacity:.55}',
  'button{padding:5px 10px;cursor:pointer;border-radius:5px}button:disabled{opacity:.45;cursor:default}',
  `.icon{font-family:${MONO};padding:5px 9px}.pair button{border-radius:0}`,
  '.found:empty{display:none}.found{white-space:nowrap;font-variant-numeric:tabular-nums}',
  '.crumbs{display:flex;align-items:center;gap:2px;margin:6px -6px 0;height:24px;overflow:hidden}',
  `.crumbs button{padding:1px 6px;max-width:260px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-family:${MONO}}`,
  '.step{opacity:.6;white-space:nowrap;margin:0 3px}',
  '.foot{display:flex;flex-wrap:wrap;gap:4px 24px;padding:8px 16px;border-top:1px solid;align-items:center}',
  '.foot .note{flex:1 1 auto;text-align:center}.foot .legend,.keys{display:flex;flex-wrap:wrap;gap:2px 16px}',
  '.legend span,.keys span{display:flex;align-items:center;gap:6px;white-space:nowrap}',
  `kbd{font:11px ${MONO};border:1px solid;border-radius:4px;padding:0 5px}`,
  '.tipbox{pointer-events:none}',
  '.tip{display:inline-block;max-width:100%;padding:8px 11px;border:1px solid;border-radius:8px}',
  `.tipname,.tippath{font-family:${MONO};overflow-wrap:anywhere;display:-webkit-box;-webkit-box-orient:vertical;overflow:hidden}`,
  '.tipname{font-weight:600;-webkit-line-clamp:6}.tippath{-webkit-line-clamp:3}',
  '.tiptable{display:grid;grid-template-columns:max-content max-content minmax(0,1fr);gap:0 12px;margin-top:6px;font-variant-numeric:tabular-nums}',
  '.tiptable b{text-align:right;font-weight:600}.share{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}',
].join('');

export const STYLE = `${SHAPE}${schemeRules(LIGHT, fillRules('light'))}@media (prefers-color-scheme:dark){${schemeRules(DARK, fillRules('dark'))}}`;
