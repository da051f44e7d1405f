/**
 * V8's count of its collections, where this says that it is: it goes up when a
 * program collects, and only then.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { nodePrograms } from '../../../test/node-versions.ts';
import { usedCodeRanges } from './code-pages.ts';
import { CodeSpace } from './code-space.ts';
import { Collections } from './collections.ts';
import { HeapReader, memoryOf } from './heap-reader.ts';
import { ScriptLists } from './script-lists.ts';
import { v8LayoutOf } from './v8-layout.ts';

/** For each line it collects, young objects only or all, and answers with the time at which that was over. */
const PROGRAM = `
/(a+)b/.exec('aaab'); /(a+)b/.exec('aaab');
const answer = (what) => console.log(what + ' ' + process.hrtime.bigint());
answer('up');
process.stdin.on('data', (line) => { String(line).trim() === 'minor' ? gc({ type: 'minor' }) : gc(); setTimeout(answer, 20, 'done'); });
`;
const nowUs = () => Number(process.hrtime.bigint()) / 1000;
const { NODE_OPTIONS: _, ...env } = process.env;

for (const node of nodePrograms)
  test(`collections of all objects are told apart, and when they were over: ${node}`, async (t) => {
    // With code, by whose pages the heap is found.
    const words = ['--expose-gc', '--no-regexp-tier-up', '-e', PROGRAM];
    const child = spawn(node, words, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const layout = await v8LayoutOf(node);
    assert.ok(typeof layout !== 'string' && layout.codeSpace !== null && layout.collections !== null);
    using heap = new HeapReader(memoryOf(child.pid!));
    const scripts = new ScriptLists(heap, layout, layout.codeSpace);
    const code = new CodeSpace(() => usedCodeRanges(child.pid!), heap, layout, layout.codeSpace);
    for (const { start, map } of code.look().found) scripts.add(start - layout.streamHeaderBytes, map);
    const [first, ...others] = [...scripts.heaps()];
    assert.ok(first !== undefined && others.length === 0, 'one isolate');
    const collections = new Collections(heap, { heap: first, layout: layout.collections }, nowUs);
    assert.ok(collections.isValid && collections.epochs.length === 1);
    assert.equal(collections.look(), true);

    child.stdin.write('minor\n');
    await once(child.stdout, 'data');
    assert.equal(collections.look(), true, 'young objects');

    const askedUs = nowUs();
    child.stdin.write('major\n');
    const [told] = await once(child.stdout, 'data');
    const toldUs = Number(String(told).trim().split(' ').at(-1)) / 1000;
    assert.equal(collections.look(), false, 'all objects');
    const [before, after] = collections.epochs;
    assert.ok(
      before!.untilUs <= askedUs && after!.fromUs > askedUs,
      JSON.stringify({ before, after, askedUs }),
    );
    assert.ok(after!.fromUs < toldUs, 'V8 says when it was over');
    assert.equal(collections.look(), true);
    assert.ok(collections.isValid);
  });
