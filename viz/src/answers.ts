// The engine's answers, as docs/batch.md describes them.
export type Size = number | string;

export interface ViewOfStack {
  readonly shape: readonly Size[];
  readonly strides: readonly Size[];
  readonly offset: Size;
  readonly mask: readonly (readonly [Size, Size])[] | null;
  readonly contiguous: boolean;
}

export interface ViewAnswer {
  readonly shape: readonly Size[];
  /** Memory first. */
  readonly views: readonly ViewOfStack[];
  readonly text: string;
  readonly idx: string;
  readonly valid: string;
  readonly real_strides: readonly (Size | null)[];
  readonly contiguous: boolean;
  readonly size: Size;
  readonly real_size: Size | null;
  readonly why?: string;
}

export interface ExprAnswer {
  readonly render: string;
  readonly c: string;
  readonly min: number;
  readonly max: number;
  readonly exact: boolean;
  readonly constant: number | null;
  readonly affine: { readonly const: number; readonly coeffs: Readonly<Record<string, number>> } | null;
  readonly nodes: number;
  readonly free: readonly string[];
  readonly values?: readonly number[];
}

export interface LayoutAnswer {
  readonly layout?: string;
  readonly table?: readonly number[] | { readonly memory: number; readonly count: number };
  readonly value?: unknown;
}
