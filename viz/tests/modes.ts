// A state of each mode that shows what the mode is for: for tests of all modes, and for pictures.
export const MODES_SHOWN: readonly { readonly name: string; readonly state: Record<string, string> }[] = [
  { name: 'box', state: { mode: 'box', q: 'ShapeTracker.from_shape((3,2)).permute((1,0)).reshape((3,2))' } },
  { name: 'shape', state: { mode: 'shape', q: 'View(shape=(3, 4), strides=(6, 1), mask=((0, 2), (0, 4)))', hex: '1' } },
  { name: 'expression', state: { mode: 'expression', q: 'a: 0..9; b: 0..9; (a + b*10) % 10 + (b*4+3)//4; valid a < 8', step: '1' } },
  { name: 'movement', state: { mode: 'movement', q: 'ShapeTracker.from_shape((3,2)).permute((1,0)).reshape((3,2))' } },
  { name: 'layouts', state: { mode: 'layouts', q: 'zipped_divide((8,8):(8,1), (4:1, 2:1))' } },
  { name: 'kernel', state: { mode: 'kernel', q: 'a: f32[64,64]; b: f32[64,64]; c = a @ b', opts: 'SPLIT 0 8, LANES 1 8, UNROLL 2 2' } },
  { name: 'film', state: { mode: 'film', q: 'a: f32[8,8]; b: f32[8,8]; c = a @ b', opts: 'LANES 1 8', at: '300', sets: '2' } },
  { name: 'symbolic', state: { mode: 'symbolic', q: 'n: 1..12; (n,3).permute(1,0)', prove: 'injective' } },
  { name: 'live', state: { mode: 'live' } },
  { name: 'tour', state: { mode: 'tour', puzzle: 'transpose', q: 'View(shape=(4, 3), strides=(3, 1))' } },
];
