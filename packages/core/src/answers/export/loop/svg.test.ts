import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readXml } from '../../../test/read-xml.ts';
import type { LoopRow, LoopsAnswer, LoopTurn } from '../../index.ts';
import { tickStep } from './busy-picture.ts';
import { writeLoopSvg } from './svg.ts';
import { WORK_KINDS, workKind } from './work-colours.ts';

const SECOND_NS = 1e9;

const who = (name: string, file: string | null = null) => ({ name, file, line: 3, column: 1 });

function turn(changes: Partial<LoopTurn> = {}): LoopTurn {
  return {
    kind: 'turn',
    startNs: SECOND_NS / 2,
    lengthNs: 100e6,
    cpuNs: 60e6,
    waitingNs: 40e6,
    readyNs: 0,
    function: who('burn', '/app/burn.js'),
    stack: [who('serve', '/app/serve.js')],
    functions: [{ ...who('burn', '/app/burn.js'), timeNs: 60e6, percent: 60 }],
    work: [],
    waits: [],
    parts: [
      { startNs: 0, lengthNs: 60e6, state: 'cpu', work: 'JavaScript', function: 'burn', isInferred: false },
      { startNs: 60e6, lengthNs: 40e6, state: 'waiting', work: 'disk', function: 'burn', isInferred: true },
    ],
    ...changes,
  };
}

function answerOf(changes: Partial<LoopRow> = {}, count = 1): LoopsAnswer {
  const loop: LoopRow = {
    pid: 7,
    tid: 7,
    comm: 'node',
    role: 'main',
    state: 'turns',
    startNs: 0,
    endNs: SECOND_NS,
    turns: 2,
    busyNs: 200e6,
    idleNs: 800e6,
    busyPercent: 20,
    lengths: { p50Ns: 100e6, p90Ns: 100e6, p99Ns: 100e6, maxNs: 100e6, meanNs: 100e6 },
    histogram: [],
    doubtfulTurns: 0,
    doubtfulNs: 0,
    nestedWaits: 0,
    slowTurns: 2,
    slowTurnsNs: 200e6,
    work: [],
    waits: [],
    readyNs: 0,
    waitingNs: 0,
    blockers: [],
    longest: [turn()],
    timeline: { binNs: 500e6, busyNs: [0, 250e6] },
    ...changes,
  };
  return {
    type: 'event-loops',
    version: 1,
    durationNs: SECOND_NS,
    slowNs: 20e6,
    loops: new Array<LoopRow>(count).fill(loop),
    pool: [],
    notes: [],
    loss: [],
    damage: [],
  };
}

test('busy time is a path over the whole time, and turns lie below it at their time', () => {
  const svg = writeLoopSvg(answerOf());
  readXml(svg);
  // Idle for half a second, then half busy: half of 48 pixels, over half of 1168.
  const path = /class="busy" d="M16 (\d+)V(\d+)H600V([\d.]+)H1184V\1z"/.exec(svg);
  assert.ok(path !== null, svg);
  assert.equal(path[2], path[1]);
  assert.equal(Number(path[1]) - Number(path[3]), 24);
  assert.match(svg, /class="mark" x="600" y="\d+" width="116.8"/);
  assert.match(svg, /busy 20\.0 % of 1\.00 s · 2 turns · median 100 ms/);
  assert.match(svg, /nothing lost/);
});

test('parts of a turn fill its bar in proportion, and say what they were', () => {
  const svg = writeLoopSvg(answerOf());
  assert.match(svg, /class="script" x="166" y="\d+" width="610.8".*?<title>60\.0 ms JavaScript in burn</);
  assert.match(
    svg,
    /class="waiting" x="776.8" y="\d+" width="407.2".*?<title>40\.0 ms disk in probably burn</,
  );
  assert.match(svg, />burn \(burn\.js:3\), called by serve \(serve\.js:3\)</);
});

test('a turn that waited or found no CPU says so', () => {
  const wait = {
    cause: 'disk',
    kernelFunction: null,
    function: null,
    isInferred: false,
    timeNs: 90e6,
    times: 1,
  };
  const waited = turn({ waitingNs: 90e6, cpuNs: 10e6, waits: [wait] });
  assert.match(writeLoopSvg(answerOf({ longest: [waited] })), /, waited: disk</);
  const ready = turn({ readyNs: 90e6, function: null });
  assert.match(writeLoopSvg(answerOf({ longest: [ready] })), />\[not sampled\].*no CPU was free</);
});

test('hostile names stay text, and nothing is fetched or run', () => {
  const evil = `</text><script>alert(1)</script>&"'\u0000\u001b[31m`;
  const svg = writeLoopSvg(
    answerOf({
      comm: evil,
      longest: [
        turn({ function: who(evil, evil), parts: [{ ...turn().parts[0]!, function: evil, work: evil }] }),
      ],
    }),
  );
  readXml(svg);
  assert.ok(!svg.includes('<script'));
  assert.deepEqual(svg.match(/https?:[^"]*/g), ['http://www.w3.org/2000/svg']);
});

test('losses, notes and loops that are left out are told', () => {
  const answer = answerOf({}, 30);
  answer.notes.push('records were lost in 2 turns');
  answer.damage.push({ kind: 'cut', offset: 0n, count: 1 } as never);
  const svg = writeLoopSvg(answer);
  readXml(svg);
  assert.match(svg, /30 loops · lost: parts of the input are damaged · 6 loops are left out/);
  assert.match(svg, /records were lost in 2 turns/);
  assert.equal(svg.match(/class="busy"/g)!.length, 24);
});

test('an answer without loops is a picture that says so', () => {
  const svg = writeLoopSvg({ ...answerOf(), loops: [], durationNs: 0 });
  readXml(svg);
  assert.match(svg, /Event loop of nothing: no loop was seen/);
});

test('ticks are 1, 2 or 5, and at most ten', () => {
  for (const ns of [1, 7, 1e6, 5.29e9, 9.99e9, 3600e9]) {
    const step = tickStep(ns);
    assert.ok(ns / step <= 10, `${ns} by ${step}`);
    assert.match(String(Number(step.toPrecision(3)).toExponential()), /^[125]e/);
  }
});

test('every kind of work that answers name has its colour', () => {
  const kindOf = (work: string) => workKind({ state: 'cpu', work });
  assert.equal(kindOf('GC: scavenge'), 'gc');
  assert.equal(kindOf('compile: TurboFan'), 'compile');
  assert.equal(kindOf('parse'), 'compile');
  assert.equal(kindOf('kernel'), 'kernel');
  assert.equal(kindOf('builtin'), 'native');
  assert.equal(kindOf(''), 'unknown');
  assert.equal(workKind({ state: 'ready', work: 'ready, no CPU free' }), 'ready');
  const svg = writeLoopSvg(answerOf());
  for (const kind of WORK_KINDS) assert.ok(svg.includes(`.${kind}{fill:#`), kind);
});
