/**
 * The pictures of README.md, out of a recording of the demo program:
 * `docs/public/flame.svg`, and `docs/public/report.svg`, which shows what a terminal shows.
 * `npm run pictures`, after a build; it takes some
 * ten seconds.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { terminalPicture } from './terminal-picture.ts';

const root = join(import.meta.dirname, '..');
const command = join(root, 'packages/node/bin/counterpoint.js');
const pictures = join(root, 'docs/public');
const folder = mkdtempSync(join(tmpdir(), 'shop-'));

function counterpoint(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...words], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`counterpoint ${words.join(' ')}: exit status ${status}\n${stderr}`);
  return stdout;
}

/**
 * The still part alone: README shows it as an image, which runs no script. Names
 * of this machine are left out.
 */
function stillOf(page: string): string {
  return page
    .replace(/<script\b.*?<\/script>\n?/gs, '')
    .replace(/ · [^ ·]+ Linux [^ ]+ \w+/g, '')
    .replaceAll(folder, '/shop');
}

try {
  cpSync(join(root, 'examples/demo'), folder, { recursive: true });
  counterpoint('record', '-g', '--', process.execPath, 'main.js');
  // A recursion of a hundred levels below a hundredth of the time would make the picture a tower.
  counterpoint('export', '--js', '--fold=node', '--minimum-percent=0.5', '--title=shop', '-o', 'flame.svg');
  writeFileSync(join(pictures, 'flame.svg'), stillOf(readFileSync(join(folder, 'flame.svg'), 'utf8')));
  const words = ['report', '--limit', '12'];
  const report = counterpoint(...words).replaceAll(folder, '/shop');
  const shown = `$ counterpoint ${words.join(' ')}\n${report.trimEnd()}`;
  writeFileSync(join(pictures, 'report.svg'), terminalPicture(shown, 'counterpoint report'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
