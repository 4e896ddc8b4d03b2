// Said where the box holds something of another kind: what the mode wants, and an example to begin with.
import { setBoxText } from '../reading';

export function Elsewhere(props: { wants: string; example: string }) {
  return (
    <div class="elsewhere">
      <p>This mode shows {props.wants}. The box has something else.</p>
      <button type="button" onClick={() => setBoxText(props.example)}>
        <code>{props.example}</code>
      </button>
    </div>
  );
}
