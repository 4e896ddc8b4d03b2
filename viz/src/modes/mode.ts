// What a mode is: a tab, a page for what the box says.
import type { FunctionComponent } from 'preact';

export interface Mode {
  readonly id: string;
  readonly title: string;
  /** One sentence: what can be seen and done here. */
  readonly about: string;
  readonly Page: FunctionComponent;
}
