// WGSL on the browser's WebGPU: what a source binds, how many groups it needs, one run of it. The types are the part of WebGPU's
// interface that is used.
import type { KernelParts } from './answer';

interface GpuBuffer {
  mapAsync(mode: number): Promise<void>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}
interface GpuPass {
  setPipeline(pipeline: object): void;
  setBindGroup(at: number, group: object): void;
  dispatchWorkgroups(x: number): void;
  end(): void;
}
interface GpuDevice {
  readonly queue: { writeBuffer(buffer: GpuBuffer, at: number, data: ArrayBufferView): void; submit(commands: object[]): void };
  createBuffer(of: { size: number; usage: number }): GpuBuffer;
  createShaderModule(of: { code: string }): { getCompilationInfo(): Promise<{ messages: readonly { type: string; message: string; lineNum: number }[] }> };
  createBindGroupLayout(of: object): object;
  createPipelineLayout(of: object): object;
  createComputePipelineAsync(of: object): Promise<object>;
  createBindGroup(of: object): object;
  createCommandEncoder(): { beginComputePass(): GpuPass; copyBufferToBuffer(a: GpuBuffer, i: number, b: GpuBuffer, j: number, size: number): void; finish(): object };
  pushErrorScope(kind: string): void;
  popErrorScope(): Promise<{ message: string } | null>;
  destroy(): void;
}
interface GpuAdapter {
  readonly info?: { readonly vendor: string; readonly architecture: string };
  readonly limits: { readonly maxStorageBuffersPerShaderStage: number; readonly maxStorageBufferBindingSize: number };
  requestDevice(of?: object): Promise<GpuDevice>;
}
const gpu = (): { requestAdapter(): Promise<GpuAdapter | null> } | undefined => (navigator as unknown as { gpu?: { requestAdapter(): Promise<GpuAdapter | null> } }).gpu;

const MAP_READ = 1, COPY_SRC = 4, COPY_DST = 8, UNIFORM = 64, STORAGE = 128, COMPUTE = 4, READ = 1;
const MOST_GROUPS = 65535;

/** One of a source's `var<…>` lines. */
export interface Binding {
  readonly binding: number;
  readonly space: 'storage' | 'read-only-storage' | 'uniform';
  readonly name: string;
  readonly type: string;
}

export function bindingsOf(source: string): Binding[] {
  const lines = source.matchAll(/@binding\((\d+)\) var<(storage, read_write|storage, read|uniform)> (\w+): (?:array<(\w+)>|(\w+));/g);
  return [...lines].map(([, binding, space, name, element, value]) => ({
    binding: Number(binding),
    space: space === 'uniform' ? 'uniform' : space === 'storage, read' ? 'read-only-storage' : 'storage',
    name: name ?? '',
    type: element ?? value ?? '',
  }));
}

/** Groups of a launch: instances are counted in groups of 64, or the kernel counts groups itself. */
export function groupsOf(kernel: Pick<KernelParts, 'ops' | 'source'>): number | null {
  const special = kernel.ops.find((op) => op.op === 'SPECIAL');
  if (special === undefined) return 1;
  const size = Number(/, (\d+)\)$/.exec(special.arg ?? '')?.[1] ?? NaN);
  if (!Number.isInteger(size)) return null;
  const group = Number(/@workgroup_size\((\d+)/.exec(kernel.source)?.[1] ?? 1);
  return /i32\(\(?idx\./.test(kernel.source) ? Math.ceil(size / group) : size;
}

const LISTS = { f32: Float32Array, i32: Int32Array, u32: Uint32Array } as const;
type Words = Float32Array | Int32Array | Uint32Array;

/** Why a kernel cannot be run here, or null. */
export function whyNot(kernel: Pick<KernelParts, 'ops' | 'source'>, several: boolean): string | null {
  if (several) return 'This kernel is made of several, one after another: only single ones are run here.';
  const odd = bindingsOf(kernel.source).find((b) => !(b.type in LISTS));
  if (odd !== undefined) return `${odd.name} holds ${odd.type}: f32, i32 and u32 are run here.`;
  const groups = groupsOf(kernel);
  if (groups === null) return 'How many threads share its loop depends on a symbolic size: that is not run here.';
  return groups > MOST_GROUPS ? `It needs ${groups} groups of threads, and WebGPU has ${MOST_GROUPS} at most.` : null;
}

export interface Ran {
  readonly adapter: string;
  readonly milliseconds: number;
  /** By name in the source. */
  readonly outputs: ReadonlyMap<string, Words>;
}

/** Runs a source once. `inputs` are numbers by name: lists of buffers, one of a variable. @throws Error that says what fails */
export async function runWgsl(kernel: Pick<KernelParts, 'name' | 'ops' | 'source'>, inputs: ReadonlyMap<string, ArrayLike<number>>): Promise<Ran> {
  const adapter = await gpu()?.requestAdapter();
  if (gpu() === undefined) throw new Error('This browser has no WebGPU.');
  if (adapter === null || adapter === undefined) throw new Error('This browser has WebGPU, but gives no device.');
  const device = await adapter.requestDevice();
  try {
    device.pushErrorScope('validation');
    const outputs = await launch(device, kernel, inputs);
    const fault = await device.popErrorScope();
    if (fault !== null) throw new Error(fault.message);
    return { adapter: [adapter.info?.vendor, adapter.info?.architecture].filter((s) => s !== undefined && s !== '').join(' '), ...outputs };
  } finally {
    device.destroy();
  }
}

async function launch(device: GpuDevice, kernel: Pick<KernelParts, 'name' | 'ops' | 'source'>, inputs: ReadonlyMap<string, ArrayLike<number>>): Promise<Pick<Ran, 'outputs' | 'milliseconds'>> {
  const bindings = bindingsOf(kernel.source);
  const module = device.createShaderModule({ code: kernel.source });
  const wrong = (await module.getCompilationInfo()).messages.find((m) => m.type === 'error');
  if (wrong !== undefined) throw new Error(`line ${wrong.lineNum}: ${wrong.message}`);
  const layout = device.createBindGroupLayout({ entries: bindings.map((b) => ({ binding: b.binding, visibility: COMPUTE, buffer: { type: b.space } })) });
  const pipeline = await device.createComputePipelineAsync({
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module, entryPoint: kernel.name },
  });
  const buffers = bindings.map((b) => upload(device, b, inputs.get(b.name) ?? []));
  const group = device.createBindGroup({ layout, entries: bindings.map((b, i) => ({ binding: b.binding, resource: { buffer: buffers[i]?.buffer } })) });
  const begin = performance.now();
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(groupsOf(kernel) ?? 1);
  pass.end();
  const written = bindings.flatMap((b, i) => (b.space === 'storage' && buffers[i] !== undefined ? [{ binding: b, ...buffers[i] }] : []));
  const copies = written.map(({ buffer, size }) => {
    const copy = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, size);
    return copy;
  });
  device.queue.submit([encoder.finish()]);
  await Promise.all(copies.map((copy) => copy.mapAsync(READ)));
  const milliseconds = performance.now() - begin;
  const outputs = new Map<string, Words>();
  written.forEach(({ binding, count }, i) => {
    const bytes = copies[i]?.getMappedRange().slice(0) ?? new ArrayBuffer(0);
    outputs.set(binding.name, new LISTS[binding.type as 'f32'](bytes, 0, count));
  });
  return { outputs, milliseconds };
}

function upload(device: GpuDevice, b: Binding, numbers: ArrayLike<number>): { buffer: GpuBuffer; size: number; count: number } {
  const words = LISTS[b.type as 'f32'].from(numbers);
  const size = Math.max(b.space === 'uniform' ? 16 : 4, words.byteLength);
  const buffer = device.createBuffer({ size, usage: (b.space === 'uniform' ? UNIFORM : STORAGE) | COPY_DST | COPY_SRC });
  device.queue.writeBuffer(buffer, 0, words);
  return { buffer, size, count: words.length };
}

export interface Difference {
  readonly most: number;
  /** Where it is; -1 where there is none. */
  readonly at: number;
}

/** The greatest difference of two lists; two NaN are alike, as are two equal infinities. */
export function differenceOf(a: ArrayLike<number>, b: ArrayLike<number>): Difference {
  let most = 0, at = -1;
  for (let i = 0; i < Math.max(a.length, b.length); ++i) {
    const [x, y] = [a[i] ?? NaN, b[i] ?? NaN];
    if (Object.is(x, y) || x === y || (Number.isNaN(x) && Number.isNaN(y))) continue;
    const gap = Number.isNaN(x - y) ? Infinity : Math.abs(x - y);
    if (gap > most) [most, at] = [gap, i];
  }
  return { most, at };
}
