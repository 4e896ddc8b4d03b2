// The engine in Node, and the page's side of the worker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadEngine } from '../plugins/node-engine';
import { Engine, firstRounded, Trap, type Reply } from '../src/engine/instance';
import type { FromWorker, ToWorker } from '../src/engine/messages';
import { Client, type Port } from '../src/engine/questions';

test('long lists come beside the answer, NaN where there is nothing', async () => {
  const engine = await loadEngine();
  const { answer, arrays } = engine.ask({ do: 'view', shape: [2, 2], ops: [['pad', [[0, 0], [0, 1]]]], addresses: true });
  assert.deepEqual(answer['addresses'], { memory: 0, count: 6 });
  assert.deepEqual(arrays, [new Float64Array([0, 1, NaN, 2, 3, NaN])]);
  // A list outlives the requests that come after it.
  engine.ask({ do: 'view', shape: [1000], addresses: true });
  assert.deepEqual(arrays, [new Float64Array([0, 1, NaN, 2, 3, NaN])]);
  assert.deepEqual(engine.ask({ do: 'view', shape: [2] }).arrays, []);
});

test('a million addresses, and a window of 2^40', async () => {
  const engine = await loadEngine();
  const all = engine.ask({ do: 'view', shape: [1000, 1000], ops: [['permute', [1, 0]]], addresses: true }).arrays[0];
  assert.equal(all?.length, 1_000_000);
  assert.equal(all?.[1], 1000);
  const part = engine.ask({ do: 'view', shape: [1048576, 1048576], addresses: true, window: [[1048575, 1048576], [5, 7]] });
  assert.deepEqual(part.arrays, [new Float64Array([1099510579205, 1099510579206])]);
});

test('a number that a double cannot hold is refused, not rounded', async () => {
  const engine = await loadEngine();
  const text = (offset: string) => engine.ask({ do: 'read', text: `View(shape=(2,2), strides=(2,1), offset=${offset})` }).answer;
  assert.match(text('9007199254740993').error?.message ?? '', /has the number 9007199254740993, .* beyond 2\^53/);
  for (const offset of ['9007199254740992', '4611686018427387904', '12']) assert.equal(text(offset).error, undefined, offset);
  assert.equal(firstRounded('{"a":"9007199254740993 \\" 9007199254740993","b":[0.12345678901234567,1.5e300,-1]}'), null);
  assert.equal(firstRounded('[1,-9007199254740993]'), '-9007199254740993');
});

test('errors are answers; exceptions pass through the engine and leave it whole', async () => {
  const engine = await loadEngine();
  for (let k = 0; k < 2000; k += 1) {
    const { answer } = engine.ask({ do: 'expr', text: 'a % 0', vars: { a: [0, 3] } });
    assert.deepEqual(answer, { error: { kind: 'domain', message: '[mod] a modulo 0', column: 3 } });
  }
  assert.equal(engine.ask({ do: 'expr', text: 'a % 4', vars: { a: [0, 3] } }).answer['render'], 'a');
});

/** A module with the engine's exports whose `ask` stops. */
const STOPS = Uint8Array.from(
  Buffer.from(
    '0061736d01000000' + '0113046000006' + '0017f017f60017f0060027f7f017f' + '03050400010203' + '0503010001' +
      '072e05' + '066d656d6f72790200' + '0b5f696e697469616c697a650000' + '066d616c6c6f630001' + '04667265650002' + '0361736b0003' +
      '0a1004' + '02000b' + '040041080b' + '02000b' + '0300000b',
    'hex',
  ),
);

test('an engine that stopped answers no more', async () => {
  const engine = await Engine.load(STOPS);
  assert.throws(() => engine.ask({ do: 'expr' }), Trap);
  assert.throws(() => engine.ask({ do: 'expr' }), Trap);
});

/** A worker that does as the test says. */
class FakePort implements Port {
  onmessage: Port['onmessage'] = null;
  onerror: Port['onerror'] = null;
  readonly sent: ToWorker[] = [];
  isRunning = true;
  postMessage(message: ToWorker): void {
    this.sent.push(message);
  }
  terminate(): void {
    this.isRunning = false;
  }
  say(message: FromWorker): void {
    this.onmessage?.({ data: message } as MessageEvent<FromWorker>);
  }
  get ids(): number[] {
    return this.sent.flatMap((m) => ('id' in m ? [m.id] : []));
  }
}

function clientWith(patience?: number): { client: Client; ports: FakePort[]; port: () => FakePort } {
  const ports: FakePort[] = [];
  const open = (): Port => {
    ports.push(new FakePort());
    return ports[ports.length - 1] as FakePort;
  };
  const client = new Client(open, 'packed', patience);
  return { client, ports, port: () => ports[ports.length - 1] as FakePort };
}

const reply = (n: number): Reply => ({ answer: { n }, arrays: [] });

test('answers go to their questions, in whatever order they come', async () => {
  const { client, port } = clientWith();
  assert.deepEqual(port().sent, [{ engine: 'packed' }]);
  const [a, b] = [client.ask({ do: 'a' }), client.ask({ do: 'b' })];
  port().say({ ready: 12 });
  assert.equal(await client.ready, 12);
  port().say({ id: 1, ...reply(1) });
  port().say({ id: 0, ...reply(0) });
  assert.deepEqual([await a, await b], [reply(0), reply(1)]);
});

test('a slot keeps the answer to what was asked last', async () => {
  const { client, port } = clientWith();
  port().say({ ready: 1 });
  const ask = client.slot();
  const [stale, fresh] = [ask({ do: 'a' }), ask({ do: 'b' })];
  port().say({ id: 0, ...reply(0) });
  port().say({ id: 1, ...reply(1) });
  assert.deepEqual([await stale, await fresh], [null, reply(1)]);
});

test('a question that takes too long is given up, the others are asked again', async () => {
  const { client, ports, port } = clientWith(20);
  port().say({ ready: 1 });
  const [slow, other] = [client.ask({ do: 'slow' }), client.ask({ do: 'other' })];
  assert.equal((await slow).answer.error?.kind, 'timeout');
  assert.equal(ports.length, 2);
  assert.equal(ports[0]?.isRunning, false);
  assert.deepEqual(port().ids, [1]);
  port().say({ ready: 1 });
  port().say({ id: 1, ...reply(1) });
  assert.deepEqual(await other, reply(1));
});

test('without an engine every question says so', async () => {
  const { client, port } = clientWith();
  const asked = client.ask({ do: 'a' });
  port().say({ broken: 'no WebAssembly' });
  assert.equal((await asked).answer.error?.message, '[engine] no WebAssembly');
  assert.equal((await client.ask({ do: 'b' })).answer.error?.kind, 'engine');
  await assert.rejects(client.ready, /no WebAssembly/);
});

test('where no worker opens there is no engine', async () => {
  const client = new Client(() => {
    throw new Error('no Worker');
  }, '');
  assert.equal((await client.ask({ do: 'a' })).answer.error?.message, '[engine] no Worker');
});
