// Said where the box holds nothing that the mode shows: what the mode wants, and an example to begin with.
import { read, setBoxText } from '../reading';

export function Elsewhere(props: { wants: string; example: string }) {
  const { reading, pending, text } = read.value;
  if (reading === null && pending) return null;
  const has = text.trim() === '' ? 'The box is empty.' : reading === null ? 'The box has nothing that can be read.' : 'The box has something else.';
  return (
    <div class="elsewhere">
      <p>
        This mode shows {props.wants}. {has}
      </p>
      <button type="button" onClick={() => setBoxText(props.example)}>
        <code>{props.example}</code>
      </button>
    </div>
  );
}
