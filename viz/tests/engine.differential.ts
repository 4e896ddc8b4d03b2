// The engine's answers are those of `strata batch`, byte for byte. STRATA_PROGRAM is the program, STRATA_COUNT how many requests,
// STRATA_SEED where they begin.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { loadEngine } from '../plugins/node-engine';
import type { Engine, Numbers } from '../src/engine/instance';
import { damaged, kindNames, Random, randomRequest } from './random-requests';

const program = process.env['STRATA_PROGRAM'] ?? '../build/tests/strata';
const count = Number(process.env['STRATA_COUNT'] ?? 5000);
const seed = Number(process.env['STRATA_SEED'] ?? 1);

/** What `strata batch` prints, a line each. */
function nativeAnswers(lines: readonly Buffer[]): string[] {
  const input = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]));
  const output = execFileSync(program, ['batch'], { input, maxBuffer: 1 << 30 }).toString('utf8');
  return output.split('\n').slice(0, -1);
}

/** Times differ from run to run. */
const timeless = (json: string): string => json.replace(/"seconds":[-+.e\d]+/g, '"seconds":0').replace(/"passes":\{[^{}]*\}/g, '"passes":{}');

/** The answer with its lists in the text, as the program prints them. */
function inText(json: string, arrays: readonly Numbers[]): string {
  return json.replace(/\{"memory":(\d+),"count":(\d+)\}/g, (_, index: string, length: string) => {
    const numbers = arrays[Number(index)];
    assert.equal(numbers?.length, Number(length));
    return `[${Array.from(numbers ?? [], (n) => (Number.isNaN(n) ? -1 : n)).join(',')}]`;
  });
}

function compare(engine: Engine, lines: readonly Buffer[], about: (k: number) => string): string[] {
  const native = nativeAnswers(lines);
  assert.equal(native.length, lines.length);
  return lines.map((line, k) => {
    const { json, arrays } = engine.askText(line);
    const answer = inText(json, arrays);
    assert.equal(timeless(answer), timeless(native[k] as string), `${about(k)}: ${line.toString()}`);
    return answer;
  });
}

test(`${count} random requests are answered as by the program, seed ${seed}`, async () => {
  const random = new Random(seed);
  const requests = random.list(count, () => randomRequest(random));
  const answers = compare(await loadEngine(), requests.map(({ line }) => Buffer.from(line)), (k) => `request ${k} of seed ${seed}`);
  for (const kind of kindNames) {
    const own = answers.filter((_, k) => requests[k]?.kind === kind);
    const sound = own.filter((answer) => !answer.includes('"error":{'));
    process.stdout.write(`${kind}: ${own.length} requests, ${sound.length} with an answer\n`);
    assert.ok(sound.length >= own.length * 0.25 && own.length > 0, `few requests of the kind ${kind} are sound`);
  }
});

test(`${count} damaged lines are answered as by the program, seed ${seed}`, async () => {
  const random = new Random(seed + 1);
  const lines = random.list(count, () => damaged(random, randomRequest(random).line));
  compare(await loadEngine(), lines, (k) => `damaged line ${k} of seed ${seed + 1}`);
});

test('what no random request says: 32-bit sizes, budgets, the ends of numbers', async () => {
  const lines = [
    '{"do":"view","shape":[3,2],"ops":[["permute",[4294967296,1]]]}',
    '{"do":"view","shape":[65536,65536],"addresses":true}',
    '{"do":"view","shape":[4294967296,4294967296]}',
    '{"do":"view","shape":[9223372036854775807],"addresses":true,"window":[[9223372036854775806,9223372036854775807]]}',
    '{"do":"layout","fn":"crd2idx","args":["(65536,65536):(1,65536)"]}',
    '{"do":"layout","fn":"swizzle","args":[20,20,20]}',
    '{"do":"expr","text":"a*4294967296 % 4294967297","vars":{"a":[0,4294967296]}}',
    '{"do":"affine","text":"i*i","at":[{"i":3037000500}]}',
    '{"do":"expr","text":"9223372036854775807 + 1"}',
    '{"id":{"a":[1,{"b":"\\ud83d\\ude00"}]},"do":"expr","text":"\\u00e4"}',
  ].map((line) => Buffer.from(line));
  compare(await loadEngine(), lines, (k) => `line ${k}`);
});
