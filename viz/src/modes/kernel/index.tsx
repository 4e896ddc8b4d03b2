// A kernel through the compiler: its loops and Opts, UOps, source, and the proof of each access, linked by what is pointed at.
import { useEffect, useMemo } from 'preact/hooks';
import { type Failure, type Request, useAnswer } from '../../ask';
import { offer } from '../../export';
import { hover } from '../../hover';
import { read } from '../../reading';
import { param } from '../../state';
import { Elsewhere } from '../../ui/Elsewhere';
import { Refusal } from '../../ui/kit';
import type { Mode } from '../mode';
import { Accesses } from './Accesses';
import { type KernelAnswer, type KernelParts, kernelRequest, optsAsked } from './answer';
import './kernel.css';
import { Links } from './links';
import { Loops } from './Loops';
import { Opts } from './Opts';
import { Run } from './Run';
import { Source, UOpList } from './Source';
import { Which, whichPart } from './Which';

export const EXAMPLE = 'a: f32[64,64]; b: f32[64,64]; c = a @ b';

function Page() {
  const { reading } = read.value;
  if (reading === null) return null;
  if (reading.kind !== 'kernel') return <Elsewhere wants="a kernel" example={EXAMPLE} />;
  return <Kernel text={reading.request} />;
}

function Kernel({ text }: { text: Request }) {
  const target = param('target', 'c');
  // What the compiler says of the loops is the same in each language but for vectors; a language may still lack an operation.
  const asked = useAnswer<KernelAnswer>(kernelRequest(text));
  const plain = useAnswer<KernelAnswer>(asked.error === null || target === 'c' ? null : kernelRequest(text, 'c'));
  const kernel = asked.error !== null && plain.value !== null ? plain.value : asked.value;
  const ofTarget = asked.error !== null && plain.value !== null ? asked.error : null;
  useEffect(() => (kernel === null ? undefined : offer('kernel', { json: () => kernel })), [kernel]);
  const ofOpts = asked.error !== null && ofTarget === null ? asked.error : null;
  return (
    <div class={ofOpts === null && !asked.pending ? 'kernel' : 'kernel dim'} data-pending={asked.pending}>
      {kernel === null ? null : <Stages kernel={kernel} part={whichPart(kernel)} target={target} problem={ofTarget} />}
      <div class="first">
        <Opts text={text} chosen={kernel?.opts ?? []} error={ofOpts} />
      </div>
      <Run text={text} key={`${String(text['text'])} ${optsAsked()}`} />
    </div>
  );
}

function Stages(props: { kernel: KernelAnswer; part: KernelParts; target: string; problem: Failure | null }) {
  const { kernel, part } = props;
  const links = useMemo(() => new Links(part), [part]);
  const lit = useMemo(() => links.lit(hover.value), [links, hover.value]);
  return (
    <>
      <div class="second">
        <Loops kernel={part} lit={lit} note={`${kernel.name}${optsAsked() === 'auto' ? '' : ', with these Opts'}`} />
        <Which kernel={kernel} />
      </div>
      <Source kernel={part} lit={lit} target={props.target} problem={props.problem === null ? null : <Refusal error={props.problem} />} />
      <UOpList kernel={part} lit={lit} />
      <Accesses kernel={part} buffers={kernel.buffers} lit={lit} />
    </>
  );
}

export const kernel: Mode = { id: 'kernel', title: 'Kernel', about: 'A kernel through the compiler: loops, UOps, source in six languages, and why each access stays inside of its buffer.', Page };
