// Texts to begin with; the first ones are the specification's pictures.
export interface Example {
  readonly title: string;
  readonly text: string;
  readonly mode: string;
  readonly extra?: Readonly<Record<string, string>>;
}

export const EXAMPLES: readonly Example[] = [
  { title: '2 by 2, row-major', text: 'View(shape=(2, 2), strides=(2, 1))', mode: 'shape' },
  { title: '2 by 2, transposed by its strides', text: 'View(shape=(2, 2), strides=(1, 2))', mode: 'shape' },
  { title: 'a row, four times (stride 0)', text: 'View(shape=(4, 4), strides=(0, 1))', mode: 'shape' },
  { title: 'rows with gaps', text: 'View(shape=(2, 2), strides=(4, 1))', mode: 'shape' },
  { title: 'the first row alone (mask)', text: 'View(shape=(2, 2), strides=(2, 1), mask=((0, 1), (0, 2)))', mode: 'shape' },
  { title: 'transposed and reshaped: two Views', text: 'ShapeTracker.from_shape((3,2)).permute((1,0)).reshape((3,2))', mode: 'movement' },
  { title: 'the same as an expression', text: 'ridx0: 0..2; ridx1: 0..1; ((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3)', mode: 'expression' },
  { title: 'padded and flipped', text: '(3,4).pad((1,1),(0,2)).flip(1)', mode: 'movement' },
  { title: 'symbolic rows', text: 'n: 1..12; (n,3).permute(1,0)', mode: 'symbolic' },
  { title: 'what has no influence', text: 'a: 0..10; b: 0..10; (a + b*10) % 10', mode: 'expression' },
  { title: 'a hierarchical layout', text: '((2,4),8):((1,16),2)', mode: 'layouts' },
  { title: 'a layout divided by a tile', text: 'logical_divide((8,8):(8,1), (4:1, 2:1))', mode: 'layouts' },
  { title: 'a matrix product', text: 'a: f32[64,64]; b: f32[64,64]; c = a @ b', mode: 'kernel' },
  { title: 'softmax', text: 'a: f32[32,100]; e = exp(a - a.max(1).reshape(32,1)); b = e / e.sum(1).reshape(32,1)', mode: 'kernel' },
  { title: 'a product, as a film', text: 'a: f32[8,8]; b: f32[8,8]; c = a @ b', mode: 'film' },
];
