// The Python spellings that `read` gives are Python: each is run, and is what the text says. STRATA_PYTHON_PATH is the module's folder.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { loadEngine } from '../plugins/node-engine';

const PYTHON_PATH = process.env['STRATA_PYTHON_PATH'] ?? '../build/plain/python';

const TEXTS = [
  '(3,4)', 'View(shape=(2, 2), strides=(2, 1))', 'View(shape=(4, 4), strides=(0, 1))', 'View(shape=(3, 3), strides=(3, 1), offset=2, mask=((0, 2), (1, 3)))',
  'View(shape=(8,), strides=(-1,), offset=7)', 'ShapeTracker.from_shape((3,2)).permute((1,0)).reshape((3,2))', '(3,4).pad((1,1),(0,2)).flip(1)', '(1,5).expand(4,5)',
  '(6,4).stride(2,-1).shrink((0,2),(1,3))', '(2,3,4).permute(2,0,1).reshape(6,4)',
  '((2,4),8):((1,16),2)', '(4,2):(2,1)', 'composition((6,2):(8,2), (4,3):(3,1))', 'logical_divide(16:1, (2,2):(1,4))', 'complement(4:2, 24)', 'right_inverse((4,2):(2,1))',
  'blocked_product((2,2):(1,2), (3,2):(2,1))', 'coalesce((2,(1,6)):(1,(6,2)))',
  'a: 0..10; b: 0..10; (a + b*10) % 10', 'i: -3..9; j: 0..4; (i*40 + j)//20 - min(i, j)', 'x: 0..7; 1 if x < 3 else x*x',
];

// Each form in a namespace of its own: all lines but the last are run, the last one is the value.
const RUN = `
import json, sys
out = []
for form in json.load(sys.stdin):
    *lines, last = form.split('\\n')
    names = {}
    exec('\\n'.join(lines), names)
    value = eval(last, names)
    kind = type(value).__name__
    if kind == 'View': value = names.get('ShapeTracker', __import__('strata').ShapeTracker)((value,)); kind = 'ShapeTracker'
    out.append(value.addresses() if kind == 'ShapeTracker' else value.table() if kind == 'Layout' else value.render())
print(json.dumps(out))
`;

test('each Python spelling says what its text says', async () => {
  const engine = await loadEngine();
  const rows = TEXTS.map((text) => {
    const { kind, request, forms } = engine.ask({ do: 'read', text }).answer as unknown as { kind: string; request: Record<string, unknown>; forms: { name: string; text: string }[] };
    const form = forms.find((f) => f.name === 'Python')?.text;
    assert.ok(form !== undefined, `${text} has no Python spelling`);
    const { answer, arrays } = engine.ask(kind === 'view' ? { ...request, addresses: true } : request);
    const wanted = kind === 'expr' ? answer['render'] : Array.from(arrays[0] ?? [], (n) => (Number.isNaN(n) ? null : n));
    return { text, form, wanted };
  });
  const said = execFileSync('/usr/bin/python3', ['-c', RUN], { input: JSON.stringify(rows.map((r) => r.form)), env: { ...process.env, PYTHONPATH: PYTHON_PATH } });
  const values = JSON.parse(said.toString()) as unknown[];
  rows.forEach(({ text, form, wanted }, i) => {
    const value = values[i];
    assert.deepEqual(Array.isArray(value) ? value.map((v) => (v === -1 ? null : v)) : value, wanted, `${text}\n${form}`);
  });
});
